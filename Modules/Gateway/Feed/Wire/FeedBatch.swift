internal import Foundation
internal import SallyportCore
internal import SallyportWire

/// Access events that a relay hands to a control gateway, for the audit trail.
///
/// A relay sends a batch, unchanged, until a gateway has it in its store: rather twice than never. A gateway enters a
/// batch that comes again once; if two gateways have entered it, or two runs of one, ``AuditField/batch`` shows that.
struct FeedBatch: Sendable, Hashable, Codable {
    /// The most events.
    static let eventLimit = 1000
    /// The longest batch, in bytes of JSON.
    static let limit = 1 << 20
    /// What a relay may tell of: verdicts, ends, and how many refusals there were beyond those that it tells one by one.
    private static let kinds: Set<AuditKind> = [.connect, .tunnel, .refusal]

    /// The relay's process: hexadecimal digits, chosen by chance when it began.
    var process: String
    /// Counts the batches of the process from 1.
    var number: Int64
    /// How many events the relay could not keep since the last batch.
    var lost: Int
    /// Each with its `kind`, its `time` (milliseconds since 1970, by the relay's clock) and fields of the trail.
    var events: [[String: String]]
}

/// A batch is in the store.
struct FeedBatchAnswer: Sendable, Hashable, Codable {
    var number: Int64
}

// MARK: Telling

extension FeedBatch {
    /// What is told of an event; nil for one that is not a relay's.
    static func told(_ event: AuditEvent) -> [String: String]? {
        guard kinds.contains(event.kind) else { return nil }
        var told = ["kind": event.kind.rawValue, "time": "\(event.time.milliseconds)"]
        for (field, text) in event.fields {
            if let form = checked(field, text) { told[field.rawValue] = form }
        }
        return told[AuditField.outcome.rawValue] == nil ? nil : told
    }

    /// What a relay may say in a field, in its one form: no text of a peer's own, and so no secret.
    private static func checked(_ field: AuditField, _ text: String) -> String? {
        switch field {
        case .outcome: isWord(text) ? text : nil
        case .instance: InstanceIdentifier(text)?.description
        case .target: (try? Endpoint(text))?.description
        case .address: IPAddress(text)?.description
        case .action: text == AuditRecorder.guarding ? text : nil
        case .sent, .received, .milliseconds, .count: Int64(text).map { String(max(0, $0)) }
        default: nil
        }
    }

    /// An error type of RFC 9209, or a word of the relay's.
    private static func isWord(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                    UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}

// MARK: Entering

extension FeedBatch {
    /// The events as this gateway enters them.
    ///
    /// - Parameters:
    ///   - relay: its name in the fleet.
    ///   - now: the time of the entries; that of the relay is a detail.
    /// - Throws: `invalid` for what no relay tells.
    func entries(of relay: String, at now: Date) throws(GatewayError) -> [AuditEvent] {
        guard events.count <= Self.eventLimit, number > 0, lost >= 0, isProcess else { throw Self.misunderstood }
        var entries: [AuditEvent] = []
        for told in events { entries.append(marked(try Self.event(told, at: now), relay)) }
        guard lost > 0 else { return entries }
        var event = AuditEvent(.lost, by: .relay, at: now, outcome: "lost")
        event[number: .count] = Int64(lost)
        return entries + [marked(event, relay)]
    }

    private var isProcess: Bool {
        (1...16).contains(process.utf8.count) && process.allSatisfy { $0.isASCII && $0.isHexDigit }
    }

    private func marked(_ event: AuditEvent, _ relay: String) -> AuditEvent {
        var event = event
        event[.relay] = relay
        event[.batch] = "\(process) \(number)"
        return event
    }

    private static func event(_ told: [String: String], at now: Date) throws(GatewayError) -> AuditEvent {
        guard let kind = told["kind"].flatMap(AuditKind.init(rawValue:)), kinds.contains(kind),
            let time = told["time"].flatMap({ Int64($0) })
        else { throw misunderstood }
        let instance = told[AuditField.instance.rawValue].flatMap { InstanceIdentifier($0) }
        var event = AuditEvent(kind, by: instance == nil ? .peer : .instance, at: now)
        // What this gateway does not know, or does not take from a relay, is left out.
        for (name, text) in told {
            guard let field = AuditField(rawValue: name), let text = checked(field, text) else { continue }
            event[field] = text
        }
        guard let outcome = event[.outcome], kind != .refusal || outcome == AuditBuffer.others else {
            throw misunderstood
        }
        event[.detail] = AuditTime.text(time)
        return event
    }

    private static var misunderstood: GatewayError { GatewayError(.invalid, "The batch is none that a relay sends.") }
}
