/// What a guard answers a foreign relay: one line.
package enum GuardAnswer: Sendable, Hashable {
    /// The tunnel may be opened; the instance is for the relay's log.
    case allowed(instance: String)
    /// By the policy.
    case refused(String)
    /// There is nothing to judge by, for now: no guard that answers, or one without word from its gateways. The relay opens
    /// nothing, and tells its client that another relay may (503).
    case unavailable(String)
    /// The question could not be judged. The relay opens nothing then either.
    case failed(String)

    /// The longest line, in bytes, without its end.
    package static let maximumLine = 1024

    /// Without its end.
    package var line: String {
        switch self {
        case .allowed(let instance): "OK \(instance)"
        case .refused(let message): "ERR \(Self.plain(message))"
        case .unavailable(let message): "UNAVAILABLE \(Self.plain(message))"
        case .failed(let message): "BH \(Self.plain(message))"
        }
    }

    /// As the audit trail names it.
    var outcome: String {
        switch self {
        case .allowed: "allowed"
        case .refused: "refused"
        case .unavailable: "unavailable"
        case .failed: "failed"
        }
    }

    /// Reads a line, without its end; nil unless it is one that a guard sends.
    package init?(line: [UInt8]) {
        guard line.count <= Self.maximumLine, line.allSatisfy({ (0x20...0x7e).contains($0) }),
            let space = line.firstIndex(of: UInt8(ascii: " "))
        else { return nil }
        let rest = String(decoding: line[(space + 1)...], as: UTF8.self)
        switch String(decoding: line[..<space], as: UTF8.self) {
        case "OK":
            guard Self.isInstance(rest) else { return nil }
            self = .allowed(instance: rest)
        case "ERR": self = .refused(rest)
        case "UNAVAILABLE": self = .unavailable(rest)
        case "BH": self = .failed(rest)
        default: return nil
        }
    }

    /// Whether a text may stand in a log without quotes.
    private static func isInstance(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    /// Printable ASCII of limited length.
    private static func plain(_ message: String) -> String {
        String(message.unicodeScalars.prefix(512).map { (" "..."~").contains($0) ? Character($0) : "?" })
    }
}
