public import SallyportBase

/// Why a door could not be opened.
public struct DoorError: CodedError, Sendable {
    /// What failed. Two errors are equal if their codes are.
    public let code: Code
    /// A description for people. It contains no credential.
    public let message: String
    /// The error that caused this one; nil if there is none.
    public let underlying: (any Error)?
    /// The place in the library that made the error, for reports of faults.
    public let location: ErrorLocation

    init(
        _ code: Code, _ message: String, underlying: (any Error)? = nil, fileID: StaticString = #fileID,
        line: UInt = #line
    ) {
        self.code = code
        self.message = message
        self.underlying = underlying
        location = ErrorLocation(fileID: fileID, line: line)
    }

    /// What went wrong. New codes may come; match the ones that you handle.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        /// The address is not a loopback address, or the path is not one of a Unix socket.
        public static let invalidPlace = Code(description: "invalidPlace")
        /// Another process listens there.
        public static let inUse = Code(description: "inUse")
        /// The system refused to listen there; the message has its reason.
        public static let cannotListen = Code(description: "cannotListen")
        /// The credential is too short or has other characters than letters, digits, `-` and `_`.
        public static let invalidCredential = Code(description: "invalidCredential")
        /// The door was shut down.
        public static let shutDown = Code(description: "shutDown")
    }
}
