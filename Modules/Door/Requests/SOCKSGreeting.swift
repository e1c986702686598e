internal import SallyportCore

/// Reads SOCKS 5: the methods (RFC 1928 §3), the name and password (RFC 1929), and the request (RFC 1928 §4). A value
/// without I/O.
struct SOCKSGreeting: Sendable {
    private enum State { case methods, password, request }

    private static let withoutPassword: UInt8 = 0
    private static let withPassword: UInt8 = 2

    private let rules: GreetingRules
    private var state = State.methods

    init(_ rules: GreetingRules) { self.rules = rules }

    /// Takes from the front of the bytes what it has read.
    mutating func take(_ bytes: inout [UInt8]) -> GreetingStep {
        switch state {
        case .methods: takeMethods(&bytes)
        case .password: takePassword(&bytes)
        case .request: takeRequest(&bytes)
        }
    }

    private mutating func takeMethods(_ bytes: inout [UInt8]) -> GreetingStep {
        guard bytes.count >= 2, bytes.count >= 2 + Int(bytes[1]) else { return .more }
        let methods = bytes[2..<(2 + Int(bytes[1]))]
        bytes.removeFirst(2 + methods.count)
        if rules.credential == nil, methods.contains(Self.withoutPassword) {
            state = .request
            return .reply([5, Self.withoutPassword])
        }
        guard methods.contains(Self.withPassword) else {
            return .refuse(SOCKSReply.noMethod, rules.credential == nil ? .noSOCKSMethod : .credentialMissing)
        }
        state = .password
        return .reply([5, Self.withPassword])
    }

    /// Version 1, a name, a password; lengths of one byte each.
    private mutating func takePassword(_ bytes: inout [UInt8]) -> GreetingStep {
        guard let version = bytes.first else { return .more }
        guard version == 1 else { return .refuse([1, 1], .noSOCKSPassword) }
        guard bytes.count >= 2, bytes.count >= 3 + Int(bytes[1]) else { return .more }
        let start = 3 + Int(bytes[1])
        let length = Int(bytes[start - 1])
        guard bytes.count >= start + length else { return .more }
        let password = Array(bytes[start..<(start + length)])
        bytes.removeFirst(start + length)
        if let credential = rules.credential, !credential.matches(password) {
            return .refuse([1, 1], .credentialRefused)
        }
        state = .request
        return .reply([1, 0])
    }

    private mutating func takeRequest(_ bytes: inout [UInt8]) -> GreetingStep {
        guard bytes.count >= 4 else { return .more }
        guard bytes[0] == 5 else { return Self.refuse(.notSOCKS) }
        guard bytes[1] == 1 else { return Self.refuse(.socksCommand) }
        let lengths: (start: Int, host: Int)
        switch bytes[3] {
        case 1: lengths = (4, 4)
        case 4: lengths = (4, 16)
        case 3:
            guard bytes.count >= 5 else { return .more }
            lengths = (5, Int(bytes[4]))
        default: return Self.refuse(.socksAddressType)
        }
        let end = lengths.start + lengths.host + 2
        guard bytes.count >= end else { return .more }
        let host = Array(bytes[lengths.start..<(end - 2)])
        let port = UInt16(bytes[end - 2]) << 8 | UInt16(bytes[end - 1])
        guard let target = Self.endpoint(host, isName: bytes[3] == 3, port) else { return Self.refuse(.socksTarget) }
        var request = DoorRequest(form: .socks5, target: target)
        request.rest = Array(bytes[end...])
        return .request(request)
    }

    private static func endpoint(_ host: [UInt8], isName: Bool, _ port: UInt16) -> Endpoint? {
        guard isName else {
            return IPAddress(bytes: host).flatMap { try? Endpoint(host: .address($0), port: port) }
        }
        guard let text = String(validating: host, as: UTF8.self), !text.utf8.contains(UInt8(ascii: "%")),
            let host = try? Host(text)
        else { return nil }
        return try? Endpoint(host: host, port: port)
    }

    private static func refuse(_ refusal: DoorRefusal) -> GreetingStep { .refuse(refusal.socksReply.bytes, refusal) }
}

extension DoorRefusal {
    static let noSOCKSMethod = DoorRefusal(
        "socksMethod", "The program offers no method of SOCKS 5 that this door has: none, or name and password.")
    static let noSOCKSPassword = DoorRefusal(
        "socksPassword", "What should be a name and a password of SOCKS 5 (RFC 1929) is none.")
    static let notSOCKS = DoorRefusal("notSOCKS", "What should be a request of SOCKS 5 is none.")
    static let socksCommand = DoorRefusal(
        "socksCommand", "Of SOCKS 5 this door has CONNECT only: nothing listens, and UDP is not carried.",
        .notImplemented, socks: .commandNotSupported)
    static let socksAddressType = DoorRefusal(
        "socksAddressType", "The type of the address is none of SOCKS 5.", socks: .addressTypeNotSupported)
    static let socksTarget = DoorRefusal("socksTarget", "The server is not a valid name, or the port is 0.")
}
