internal import SallyportCore
internal import SallyportLoading
internal import SallyportTransport
internal import SallyportWire

/// The reason why a door refuses a connection, and the answer in each protocol.
struct DoorRefusal: Sendable, Equatable {
    /// As it stands in records and metrics: bounded.
    var name: String
    /// What happened and what to do, for people.
    var message: String
    var status: Status
    var socksReply: SOCKSReply
    /// A proxy error type of RFC 9209 §2.3.
    var errorType: String?

    struct Status: Sendable, Equatable {
        var code: Int
        var reason: String

        static let badRequest = Status(code: 400, reason: "Bad Request")
        static let forbidden = Status(code: 403, reason: "Forbidden")
        static let proxyAuthenticationRequired = Status(code: 407, reason: "Proxy Authentication Required")
        static let tooLarge = Status(code: 431, reason: "Request Header Fields Too Large")
        static let notImplemented = Status(code: 501, reason: "Not Implemented")
        static let badGateway = Status(code: 502, reason: "Bad Gateway")
        static let serviceUnavailable = Status(code: 503, reason: "Service Unavailable")
        static let gatewayTimeout = Status(code: 504, reason: "Gateway Timeout")
    }

    init(
        _ name: String, _ message: String, _ status: Status = .badRequest, socks reply: SOCKSReply = .failure,
        error errorType: String? = nil
    ) {
        self.name = name
        self.message = message
        self.status = status
        socksReply = reply
        self.errorType = errorType
    }

    /// Whether the app's owner may have to change something; such refusals are logged at `notice`.
    var isForOwner: Bool { ["notAdmitted", "unknownAddress", "credentialRefused"].contains(name) }

    /// The whole answer of HTTP; the connection ends behind it.
    var httpAnswer: [UInt8] {
        var lines = ["HTTP/1.1 \(status.code) \(status.reason)"]
        if let errorType {
            let member = ProxyStatus.Member("sallyport", error: errorType, details: message)
            if let value = try? ProxyStatus([member]).serialized() { lines.append("Proxy-Status: \(value)") }
        }
        if status == .proxyAuthenticationRequired {
            lines.append("Proxy-Authenticate: Basic realm=\"sallyport\", charset=\"UTF-8\"")
        }
        let body = Array((message + "\n").utf8)
        lines += ["Content-Type: text/plain; charset=utf-8", "Content-Length: \(body.count)", "Connection: close"]
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body
    }

    /// The answer in the protocol in which the program asked; nothing on a forwarded place, whose connection is reset.
    func answer(in form: DoorRequest.Form) -> [UInt8] {
        switch form {
        case .connect, .http: httpAnswer
        case .socks5: socksReply.bytes
        case .forward: []
        }
    }
}

extension DoorRefusal {
    /// The refusal for a way that could not be opened, or that was ended.
    init(_ error: LoadError) {
        if let unnamed = Self.unnamedAddress(in: error) {
            self = .unknownAddress(unnamed)
            return
        }
        typealias Kind = ProxyStatus.ErrorType
        let name = "\(error.code)"
        if let refusal = error.underlying as? RelayRefusal {
            self.init(name, error.message, of: refusal)
            return
        }
        // Neither the server nor a relay answered in time, which the code does not say.
        if error.underlying is ConnectTimeout {
            self.init(name, error.message, .gatewayTimeout, socks: .hostUnreachable, error: Kind.connectionTimeout)
            return
        }
        switch error.code {
        case .refusedByPolicy, .withdrawn, .notAuthorized:
            self.init(name, error.message, .forbidden, socks: .notAllowed, error: Kind.requestDenied)
        case .cannotFindHost:
            self.init(name, error.message, .badGateway, socks: .hostUnreachable, error: Kind.dnsError)
        case .cannotConnect:
            self.init(name, error.message, .badGateway, socks: .refused, error: Kind.connectionRefused)
        case .idleTimeout, .resourceTimeout:
            self.init(name, error.message, .gatewayTimeout, socks: .hostUnreachable, error: Kind.connectionTimeout)
        case .relayUnreachable:
            self.init(name, error.message, .badGateway, socks: .networkUnreachable, error: Kind.destinationUnavailable)
        default:
            self.init(name, error.message, .badGateway, error: Kind.proxyInternalError)
        }
    }

    /// The program is told what the relay says of the policy and of the server.
    private init(_ name: String, _ message: String, of refusal: RelayRefusal) {
        typealias Kind = ProxyStatus.ErrorType
        if refusal.isByPolicy {
            self.init(name, message, .forbidden, socks: .notAllowed, error: refusal.error ?? Kind.requestDenied)
            return
        }
        let reply: SOCKSReply =
            switch refusal.error {
            case Kind.connectionRefused: .refused
            case Kind.connectionLimitReached: .failure
            default: .hostUnreachable
            }
        switch refusal.status {
        case 503:
            self.init(
                name, message, .serviceUnavailable, socks: reply, error: refusal.error ?? Kind.destinationUnavailable)
        case 504:
            self.init(name, message, .gatewayTimeout, socks: reply, error: refusal.error ?? Kind.connectionTimeout)
        default:
            self.init(name, message, .badGateway, socks: reply, error: refusal.error ?? Kind.destinationUnavailable)
        }
    }

    /// The address that no rule names, if a way was refused or ended for that.
    private static func unnamedAddress(in error: LoadError) -> UnnamedAddress? {
        if let unnamed = error.underlying as? UnnamedAddress { return unnamed }
        guard case .denied(let decision)? = (error.underlying as? AccessDenied)?.reason else { return nil }
        return decision.unnamedAddress
    }

    static let notAdmitted = DoorRefusal(
        "notAdmitted", "This door is for another user of the machine.", .forbidden, socks: .notAllowed,
        error: ProxyStatus.ErrorType.requestDenied)
    static let credentialMissing = DoorRefusal(
        "credentialMissing", "This door wants the credential of its owner from programs of other users.",
        .proxyAuthenticationRequired, socks: .notAllowed)
    static let credentialRefused = DoorRefusal(
        "credentialRefused", "The credential is not the one of this door.", .proxyAuthenticationRequired,
        socks: .notAllowed)
    /// No answer is sent.
    static func tooManyConnections(of visitor: Visitor) -> DoorRefusal {
        let user = visitor.number.map { "user \($0)" } ?? "users whom the kernel does not name"
        return DoorRefusal(
            "tooManyConnections", "Too many connections are open, in all or of \(user).", .serviceUnavailable,
            error: ProxyStatus.ErrorType.connectionLimitReached)
    }

    static let tooSlow = DoorRefusal("tooSlow", "The program did not say in time where its connection leads.")

    private static func unknownAddress(_ unnamed: UnnamedAddress) -> DoorRefusal {
        DoorRefusal(
            "unknownAddress",
            "No rule of the policy names the address \(unnamed.endpoint). Let the program hand over the server's name "
                + "instead of looking it up itself (curl: socks5h:// in place of socks5://).",
            .forbidden, socks: .notAllowed, error: ProxyStatus.ErrorType.requestDenied)
    }
}

/// The replies of SOCKS 5 (RFC 1928 §6).
enum SOCKSReply: UInt8, Sendable {
    case succeeded = 0
    case failure = 1
    case notAllowed = 2
    case networkUnreachable = 3
    case hostUnreachable = 4
    case refused = 5
    case commandNotSupported = 7
    case addressTypeNotSupported = 8

    /// No method of those that the program offers (RFC 1928 §3).
    static let noMethod: [UInt8] = [5, 0xff]
    /// To a request of SOCKS 4: rejected.
    static let ofVersion4: [UInt8] = [0, 0x5b, 0, 0, 0, 0, 0, 0]

    /// With an address of no meaning: where the connection leads from is not told.
    var bytes: [UInt8] { [5, rawValue, 0, 1, 0, 0, 0, 0, 0, 0] }
}
