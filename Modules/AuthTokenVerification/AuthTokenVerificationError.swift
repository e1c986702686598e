public import SallyportBase

/// Why a token is not accepted, or could not be checked.
public struct AuthTokenVerificationError: CodedError, Sendable {
    /// What failed. Two errors are equal if their codes are.
    public let code: Code
    /// A description for logs. It contains no token, challenge, proof or user.
    public let message: String
    /// The error that caused this one; nil if there is none.
    public let underlying: (any Error)?
    /// The place in the library that made the error, for reports of faults.
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
    /// The result of the check. Later versions may add codes; treat an unknown one as a refusal.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case malformed, expired, notYetValid, withdrawn, userRemoved
            case wrongUser, wrongServer, wrongChallenge, replayed, noProof
            case unavailable, store, cancelled
        }
        private let value: Value

        /// Not a token of this issuer: wrong form, type, algorithm, key, signature or issuer. One code covers all these
        /// cases.
        public static let malformed = Code(value: .malformed)
        /// The token has expired; a new one is needed.
        public static let expired = Code(value: .expired)
        /// The token was issued in the future: the clocks differ by more than the leeway.
        public static let notYetValid = Code(value: .notYetValid)
        /// The instance is blocked, locked, wiped or denied. Reported on-line only; off-line the token just expires.
        public static let withdrawn = Code(value: .withdrawn)
        /// The user was removed. Reported on-line only; off-line the token just expires.
        public static let userRemoved = Code(value: .userRemoved)
        /// The token belongs to another user than the app says.
        public static let wrongUser = Code(value: .wrongUser)
        /// The token was issued for another server.
        public static let wrongServer = Code(value: .wrongServer)
        /// The challenge is not the expected one, has expired, or was never issued here.
        public static let wrongChallenge = Code(value: .wrongChallenge)
        /// The challenge, or the proof, was used before.
        public static let replayed = Code(value: .replayed)
        /// A proof of the token's key is required, and there is no valid one.
        public static let noProof = Code(value: .noProof)
        /// The keys or the service cannot be reached, so the token could not be checked. Retryable.
        public static let unavailable = Code(value: .unavailable)
        /// The store of challenges or of proofs failed, so the token is not accepted. Retryable.
        public static let store = Code(value: .store)
        /// The task was cancelled.
        public static let cancelled = Code(value: .cancelled)

        public var description: String { value.rawValue }

        /// The number that the gateway's service uses for this result; nil for results that exist in this library only.
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
