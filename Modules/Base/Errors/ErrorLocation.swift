/// The place in the source where an error was made: `Module/File.swift:line`.
///
/// Every module's error carries one. It is ignored when errors are compared and contains only what was known at compile
/// time. Initializers of errors take `fileID` and `line` with their own defaults, since `ErrorLocation()` as a default
/// argument would name the initializer's file instead of the caller's.
public struct ErrorLocation: Sendable, CustomStringConvertible {
    /// `Module/File.swift`.
    public let fileID: StaticString
    /// Counts from 1.
    public let line: UInt

    /// - Parameters:
    ///   - fileID: by default, the caller's file.
    ///   - line: by default, the caller's line.
    public init(fileID: StaticString = #fileID, line: UInt = #line) {
        self.fileID = fileID
        self.line = line
    }

    public var description: String { "\(fileID):\(line)" }
}
