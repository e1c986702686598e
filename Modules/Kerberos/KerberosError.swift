public import SallyportBase
internal import SallyportCore

/// Why there is no ticket; the underlying error of the `LoadError` if a load needed one.
public struct KerberosError: CodedError, Sendable {
    /// What failed. Two errors are equal if their codes are.
    public let code: Code
    /// A description for people. It contains no password, key or ticket.
    public let message: String
    /// The error that caused this one, such as the `LoadError` of the connection to a KDC; nil if there is none.
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
}

extension KerberosError {
    /// What went wrong. Later versions may add codes; handle those that you know and treat the others as failures.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case invalidName, wrongPassword, unknownUser, unknownService, passwordExpired, accountLocked, noTicket
            case ticketExpired, clockSkew, kdcUnreachable, kdcProtocol, keytab, credentialCache, store
            case delegationUnavailable, notAuthorized, withdrawn, other
        }
        private let value: Value

        /// A user must have the form `name@REALM`.
        public static let invalidName = Code(value: .invalidName)
        /// The realm refuses the password, or the key in the keytab.
        public static let wrongPassword = Code(value: .wrongPassword)
        /// The realm does not know the user.
        public static let unknownUser = Code(value: .unknownUser)
        /// The realm has no such service: `HTTP/host` is not registered.
        public static let unknownService = Code(value: .unknownService)
        /// The password must be changed before it can be used.
        public static let passwordExpired = Code(value: .passwordExpired)
        /// The realm has locked or disabled the user's account.
        public static let accountLocked = Code(value: .accountLocked)
        /// There is neither a valid ticket nor a way to obtain one.
        public static let noTicket = Code(value: .noTicket)
        /// The ticket has expired.
        public static let ticketExpired = Code(value: .ticketExpired)
        /// The clocks of this machine and of the realm differ too much, and the realm's time is not known.
        public static let clockSkew = Code(value: .clockSkew)
        /// No KDC of the realm answered in time; the underlying `LoadError` says why.
        public static let kdcUnreachable = Code(value: .kdcUnreachable)
        /// A KDC's answer is not Kerberos, or does not match the request.
        public static let kdcProtocol = Code(value: .kdcProtocol)
        /// The keytab cannot be read, or has no key of the user.
        public static let keytab = Code(value: .keytab)
        /// The credential cache cannot be read.
        public static let credentialCache = Code(value: .credentialCache)
        /// The store cannot be read or written; the underlying error says why.
        public static let store = Code(value: .store)
        /// The service is trusted to act for the user, and delegation is allowed, but the realm issues no forwardable
        /// ticket.
        public static let delegationUnavailable = Code(value: .delegationUnavailable)
        /// `authorize()` has not succeeded.
        public static let notAuthorized = Code(value: .notAuthorized)
        /// Authorization is withdrawn; the underlying `AccessDenied` has the result code.
        public static let withdrawn = Code(value: .withdrawn)
        /// Another error; the message is krb5's.
        public static let other = Code(value: .other)

        public var description: String { value.rawValue }

        /// Whether another credential may help.
        var isOfCredential: Bool { self == .wrongPassword || self == .unknownUser || self == .noTicket }
    }

    /// Converts to the error of a load.
    var asLoadError: LoadError {
        if let underlying = underlying as? LoadError, Self.passedOn.contains(underlying.code) { return underlying }
        if let denied = underlying as? AccessDenied { return LoadError(denied) }
        let code: LoadError.Code =
            switch self.code {
            case .delegationUnavailable: .delegationUnavailable
            case .invalidName: .invalidRequest
            default: self.code.isOfCredential ? .credentialRefused : .kerberosFailed
            }
        return LoadError(code, at: .request, message, underlying: self)
    }

    /// Errors of the load itself, not of the KDC.
    private static let passedOn: Set<LoadError.Code> = [
        .cancelled, .notAuthorized, .withdrawn, .sessionInvalidated, .resourceTimeout,
    ]
}
