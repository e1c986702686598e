public import SallyportBase
public import SallyportCore

/// Why a socket refused a call, or its connection broke.
public struct SocketError: CodedError, Sendable {
    public let code: Code
    /// What happened, for people. Holds nothing of what was sent or came.
    public let message: String
    /// The precise cause: mostly a `LoadError`, with its own below it.
    public let underlying: (any Error)?
    public let location: ErrorLocation

    public init(
        _ code: Code, _ message: String, underlying: (any Error)? = nil, fileID: StaticString = #fileID,
        line: UInt = #line
    ) {
        self.code = code
        self.message = message
        self.underlying = underlying
        location = ErrorLocation(fileID: fileID, line: line)
    }

    /// Bounded text for metrics: the code, and that of the cause.
    public var shortDescription: String { cause.map { "\(code)/\($0.shortDescription)" } ?? "\(code)" }

    /// How the connection failed, and at which step; nil where there was none.
    public var cause: LoadError? { underlying as? LoadError }

    /// The documented number of an error that ``SocketDelegate/onErr(_:_:)`` is told: 1, the network is not available, for
    /// whatever keeps bytes from flowing, security included, and 2, a time-out. Nil for errors of calls.
    public var number: Int? {
        switch code {
        case .serviceTimeOut: 2
        case .wrongState, .finished, .bufferFull, .invalidRequest, .cancelled: nil
        default: 1
        }
    }
}

extension SocketError {
    /// What went wrong. New codes may come; match the ones that you handle.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case wrongState, finished, bufferFull, invalidRequest, cancelled
            case notAuthorized, withdrawn, refusedByPolicy, networkUnavailable, serviceTimeOut
        }
        private let value: Value

        /// The call is not allowed in the socket's state, or while another of its kind goes on.
        public static let wrongState = Code(value: .wrongState)
        /// The socket's connection failed; it takes no more calls.
        public static let finished = Code(value: .finished)
        /// A buffer would hold more than its limit; it was left as it was.
        public static let bufferFull = Code(value: .bufferFull)
        /// An address, or a setting, has a value that it cannot have.
        public static let invalidRequest = Code(value: .invalidRequest)
        /// The task was cancelled.
        public static let cancelled = Code(value: .cancelled)
        /// `authorize()` has not succeeded.
        public static let notAuthorized = Code(value: .notAuthorized)
        /// Authorization is withdrawn; below the cause lies an `AccessDenied` with the documented code.
        public static let withdrawn = Code(value: .withdrawn)
        /// The route to the server is `deny`.
        public static let refusedByPolicy = Code(value: .refusedByPolicy)
        /// No connection came about, or it broke: documented number 1. ``SocketError/cause`` says how.
        public static let networkUnavailable = Code(value: .networkUnavailable)
        /// The time for connecting, for idling or for the whole connection is over: documented number 2.
        public static let serviceTimeOut = Code(value: .serviceTimeOut)

        public var description: String { value.rawValue }
    }
}
