/// Reads a program's request: SOCKS or HTTP, decided by the first byte. A value without I/O.
struct Greeting: Sendable {
    private enum State {
        case start
        case socks(SOCKSGreeting)
        case http
    }

    private let rules: GreetingRules
    private var state = State.start
    private var bytes: [UInt8] = []
    /// How far `bytes` were searched for the end of a head.
    private var searched = 0

    init(_ rules: GreetingRules) { self.rules = rules }

    /// The form of a request that was refused before it was read to its end; nil if the protocol has several.
    var form: DoorRequest.Form? { if case .socks = state { .socks5 } else { nil } }

    /// Reads further bytes. After a reply was sent, call it with an empty array first: more may have been read already.
    mutating func take(_ more: [UInt8]) -> GreetingStep {
        bytes += more
        if case .start = state {
            guard let first = bytes.first else { return .more }
            switch first {
            case 5: state = .socks(SOCKSGreeting(rules))
            case 4: return .refuse(SOCKSReply.ofVersion4, .socks4)
            default: state = .http
            }
        }
        if case .socks(var socks) = state {
            let step = socks.take(&bytes)
            state = .socks(socks)
            return step
        }
        return takeHTTP()
    }

    private mutating func takeHTTP() -> GreetingStep {
        // Refused early: bytes that are no head may have no end.
        guard ProxyHead.mayBegin(with: bytes) else { return Self.refuse(.notHTTP) }
        guard let end = headEnd() else {
            guard bytes.count <= ProxyHead.limit else { return Self.refuse(.headTooLarge) }
            return .more
        }
        guard end <= ProxyHead.limit else { return Self.refuse(.headTooLarge) }
        do throws(DoorRefusal.Thrown) {
            let head = try ProxyHead(bytes[..<end])
            let isProxyFile = rules.servesProxyFile && head.isProxyFileRequest
            if let refusal = rules.refusal(of: head) { return Self.refuse(refusal) }
            if isProxyFile { return .proxyFile }
            var request = try head.request()
            request.rest = Array(bytes[end...])
            return .request(request)
        } catch {
            return Self.refuse(error.refusal)
        }
    }

    private static func refuse(_ refusal: DoorRefusal) -> GreetingStep { .refuse(refusal.httpAnswer, refusal) }

    /// The position behind the blank line that ends a head.
    private mutating func headEnd() -> Int? {
        var index = max(0, searched - 3)
        while index + 3 < bytes.count {
            if bytes[index] == 13, bytes[index + 1] == 10, bytes[index + 2] == 13, bytes[index + 3] == 10 {
                return index + 4
            }
            index += 1
        }
        searched = bytes.count
        return nil
    }
}

/// What a request must have to be admitted.
struct GreetingRules: Sendable {
    /// The credential that the request must show; nil if the program's user needs none.
    var credential: DoorCredential?
    var servesProxyFile = false

    func refusal(of head: ProxyHead) -> DoorRefusal? {
        guard let credential else { return nil }
        guard let shown = head.password else { return .credentialMissing }
        return credential.matches(shown) ? nil : .credentialRefused
    }
}

extension DoorRefusal {
    /// A refusal thrown by a reader.
    struct Thrown: Error {
        var refusal: DoorRefusal
        init(_ refusal: DoorRefusal) { self.refusal = refusal }
    }

    static let socks4 = DoorRefusal("socks4", "SOCKS 4 is not spoken here, since it hands over addresses; use SOCKS 5.")
    static let headTooLarge = DoorRefusal(
        "headTooLarge", "The head of a request has at most \(ProxyHead.limit) bytes.", .tooLarge)
    static let notHTTP = DoorRefusal("notHTTP", "This door speaks HTTP and SOCKS 5.")
}
