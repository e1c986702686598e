/// What a test did not expect.
package struct Unexpected: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}
