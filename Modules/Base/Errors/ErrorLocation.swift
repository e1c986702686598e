/// The place in the source where an error was made: `Module/File.swift:line`.
///
/// Every module's error carries one. It is ignored when errors are compared and contains only what was known at compile
/// time. Initializers of errors take `fileID` and `line` with their own defaults, since `ErrorLocation()` as a default
/// argument would name the initializer's file instead of the caller's.
public struct ErrorLocation: Sendable, CustomStringConvertible {
    public let fileID: StaticString
    public let line: UInt

    public init(fileID: StaticString = #fileID, line: UInt = #line) {
        self.fileID = fileID
        self.line = line
    }

    public var description: String { "\(fileID):\(line)" }
}
