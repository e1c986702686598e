import Testing

// The package manager takes a file of this name for the start of the test program. Without it, it would look through an
// index of all code for tests of XCTest, of which there are none, and each build would have to write that index.
@main enum EntryPoint {
    /// The entry point that the package manager's own file would call.
    static func main() async { await Testing.__swiftPMEntryPoint() as Never }
}
