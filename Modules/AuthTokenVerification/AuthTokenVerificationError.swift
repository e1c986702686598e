public import SallyportBase

/// Why a token is not accepted, or could not be checked.
public struct AuthTokenVerificationError: CodedError, Sendable {
    public let code: Code
    /// What was found, for logs. Holds no token, challenge, proof or user.
    public let message: String
    public let underlying: (any Error)?
    public let location: ErrorLocation

    package init(
        _ code: Code, _ message: String, underlying: (any Error)? = nil, fileID: StaticString = #fileID,
        line: UInt = #line
    ) {
        self.code = code
        self.message = message
        self.underlying = underlying
        location = ErrorLocation(fileID: fileID, line: line)
    }
}

extension AuthTokenVerificationError {
    /// The verdict. New codes may come; treat one that you do not know as a refusal.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case malformed, expired, notYetValid, withdrawn, userRemoved
            case wrongUser, wrongServer, wrongChallenge, replayed, noProof
            case unavailable, store, cancelled
        }
        private let value: Value

        /// No token of this issuer: another form, type, algorithm, key, signature or issuer. One answer for all.
        public static let malformed = Code(value: .malformed)
        /// Its time is over: a new token is needed.
        public static let expired = Code(value: .expired)
        /// Of the future: the clocks differ by more than the leeway.
        public static let notYetValid = Code(value: .notYetValid)
        /// The instance is blocked, locked, wiped or denied. On-line only; off-line it is seen at expiry.
        public static let withdrawn = Code(value: .withdrawn)
        /// The user is gone. On-line only; off-line it is seen at expiry.
        public static let userRemoved = Code(value: .userRemoved)
        /// The token is another user's than the app says.
        public static let wrongUser = Code(value: .wrongUser)
        /// The token was issued for another server.
        public static let wrongServer = Code(value: .wrongServer)
        /// The challenge is not the one expected, is over, or was never issued here.
        public static let wrongChallenge = Code(value: .wrongChallenge)
        /// The challenge was used before, or the proof was.
        public static let replayed = Code(value: .replayed)
        /// A proof of the token's key is demanded, and there is none that proves it.
        public static let noProof = Code(value: .noProof)
        /// The keys, or the service, could not be had: nothing is known of the token. Retryable.
        public static let unavailable = Code(value: .unavailable)
        /// The store of challenges or of proofs failed: the token is not accepted. Retryable.
        public static let store = Code(value: .store)
        /// The task was cancelled.
        public static let cancelled = Code(value: .cancelled)

        public var description: String { value.rawValue }

        /// The number that the gateway's service has for it; none for verdicts of this library.
        public var number: Int? {
            switch self {
            case .malformed: 400
            case .expired: 401
            case .notYetValid: 402
            case .withdrawn: 403
            case .userRemoved: 404
            default: nil
            }
        }

        /// Whether a new token, with a new challenge, may be accepted.
        public var isMendedByANewToken: Bool {
            switch self {
            case .expired, .notYetValid, .wrongServer, .wrongChallenge, .replayed, .malformed: true
            default: false
            }
        }
    }
}
