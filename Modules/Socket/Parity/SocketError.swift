public import SallyportBase
public import SallyportCore

/// Why a socket refused a call, or its connection broke.
public struct SocketError: CodedError, Sendable {
    /// What failed. Two errors are equal if their codes are.
    public let code: Code
    /// A description for people. It contains nothing that was sent or received.
    public let message: String
    /// The precise cause: usually a `LoadError`, with its own cause.
    public let underlying: (any Error)?
    /// The place in the library that made the error, for reports of faults.
    public let location: ErrorLocation

    /// An error, for an app's own tests of a delegate.
    ///
    /// - Parameters:
    ///   - code: what failed.
    ///   - message: for people; without what was sent or received.
    ///   - underlying: the cause, which ``cause`` returns if it is a `LoadError`; nil if there is none.
    ///   - fileID: the place that makes the error; leave the default.
    ///   - line: as `fileID`.
    public init(
        _ code: Code, _ message: String, underlying: (any Error)? = nil, fileID: StaticString = #fileID,
        line: UInt = #line
    ) {
        self.code = code
        self.message = message
        self.underlying = underlying
        location = ErrorLocation(fileID: fileID, line: line)
    }

    /// Bounded text for metrics: the code, and the cause's code.
    public var shortDescription: String { cause.map { "\(code)/\($0.shortDescription)" } ?? "\(code)" }

    /// How the connection failed, and at which step; nil if there was no connection.
    public var cause: LoadError? { underlying as? LoadError }

    /// The number of an error that is passed to ``SocketDelegate/onErr(_:_:)``: 1 if bytes cannot be exchanged, for
    /// security reasons too, and 2 for a time-out. Nil for errors that calls throw.
    public var number: Int? {
        switch code {
        case .serviceTimeOut: 2
        case .wrongState, .finished, .bufferFull, .invalidRequest, .cancelled: nil
        default: 1
        }
    }
}

extension SocketError {
    /// What went wrong. Later versions may add codes; handle those that you know and treat the others as failures.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case wrongState, finished, bufferFull, invalidRequest, cancelled
            case notAuthorized, withdrawn, refusedByPolicy, networkUnavailable, serviceTimeOut
        }
        private let value: Value

        /// The call is not allowed in the socket's state, or while another call of its kind is running.
        public static let wrongState = Code(value: .wrongState)
        /// The socket's connection failed; the socket accepts no more calls.
        public static let finished = Code(value: .finished)
        /// A buffer would hold more than its limit; it was left as it was.
        public static let bufferFull = Code(value: .bufferFull)
        /// An address or a setting is invalid.
        public static let invalidRequest = Code(value: .invalidRequest)
        /// The task was cancelled.
        public static let cancelled = Code(value: .cancelled)
        /// `authorize()` has not succeeded.
        public static let notAuthorized = Code(value: .notAuthorized)
        /// Authorization is withdrawn; the cause's underlying error is an `AccessDenied` with the result code.
        public static let withdrawn = Code(value: .withdrawn)
        /// The policy's route to the server is `deny`.
        public static let refusedByPolicy = Code(value: .refusedByPolicy)
        /// The connection could not be established, or it broke: number 1. ``SocketError/cause`` says how.
        public static let networkUnavailable = Code(value: .networkUnavailable)
        /// The time for connecting, for idling or for the whole connection is over: number 2.
        public static let serviceTimeOut = Code(value: .serviceTimeOut)

        public var description: String { value.rawValue }
    }
}
