public import SallyportBase
internal import SallyportCore

/// Why there is no ticket, where the app asked for one; what stands under the `LoadError` of a load that needed one.
public struct KerberosError: CodedError, Sendable {
    public let code: Code
    /// What happened, for people. Holds no password, key or ticket.
    public let message: String
    public let underlying: (any Error)?
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
    /// What went wrong. New codes may come; match the ones that you handle.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case invalidName, wrongPassword, unknownUser, unknownService, passwordExpired, accountLocked, noTicket
            case ticketExpired, clockSkew, kdcUnreachable, kdcProtocol, keytab, credentialCache, store
            case delegationUnavailable, notAuthorized, withdrawn, other
        }
        private let value: Value

        /// A user is `name@REALM`.
        public static let invalidName = Code(value: .invalidName)
        /// The realm does not take the password, or the key of the keytab.
        public static let wrongPassword = Code(value: .wrongPassword)
        public static let unknownUser = Code(value: .unknownUser)
        /// The realm has no such service: nobody made `HTTP/host` known to it.
        public static let unknownService = Code(value: .unknownService)
        /// The password is to be changed before it can be used.
        public static let passwordExpired = Code(value: .passwordExpired)
        public static let accountLocked = Code(value: .accountLocked)
        /// There is neither a ticket that holds nor anything to ask for one with.
        public static let noTicket = Code(value: .noTicket)
        public static let ticketExpired = Code(value: .ticketExpired)
        /// The clocks of this machine and of the realm are too far apart, and the realm's is not known.
        public static let clockSkew = Code(value: .clockSkew)
        /// No KDC of the realm answered in time; the underlying `LoadError` says why not.
        public static let kdcUnreachable = Code(value: .kdcUnreachable)
        /// What a KDC answered is not Kerberos, or not the answer to what was asked.
        public static let kdcProtocol = Code(value: .kdcProtocol)
        /// The keytab cannot be read, or has no key of the user.
        public static let keytab = Code(value: .keytab)
        /// The credential cache cannot be read.
        public static let credentialCache = Code(value: .credentialCache)
        /// The store cannot be read or written; the underlying error says why.
        public static let store = Code(value: .store)
        /// The service is trusted to act for the user, and delegation is allowed, but the realm gives no ticket that can
        /// be handed on.
        public static let delegationUnavailable = Code(value: .delegationUnavailable)
        /// `authorize()` has not succeeded.
        public static let notAuthorized = Code(value: .notAuthorized)
        /// Authorization is withdrawn; the underlying `AccessDenied` has the documented code.
        public static let withdrawn = Code(value: .withdrawn)
        /// Something else; the message has krb5's words.
        public static let other = Code(value: .other)

        public var description: String { value.rawValue }

        /// Whether another credential may help.
        var isOfCredential: Bool { self == .wrongPassword || self == .unknownUser || self == .noTicket }
    }

    /// What a load ends with.
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

    /// The load's own end, not the KDC's.
    private static let passedOn: Set<LoadError.Code> = [
        .cancelled, .notAuthorized, .withdrawn, .sessionInvalidated, .resourceTimeout,
    ]
}
