/// A path, divided at its last slash.
///
/// The system divides paths at bytes. To `String`, a slash and a combining mark behind it are one character, which does
/// not equal a slash.
package struct PathParts: Sendable, Hashable {
    /// `.` if the path has no slash.
    package let directory: String
    /// Empty if the path ends with a slash.
    package let name: Substring

    package init(_ path: String) {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else {
            (directory, name) = (".", path[...])
            return
        }
        directory = slash == path.startIndex ? "/" : String(path[..<slash])
        name = path[path.utf8.index(after: slash)...]
    }
}
