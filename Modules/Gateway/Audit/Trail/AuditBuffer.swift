/// The access events that wait to be written. A value.
///
/// Bounded, because neither a store that cannot be written nor peers that are refused may take up the gateway's memory.
/// Refusals of the same kind become one entry with a count: a flood of them must not fill the trail.
struct AuditBuffer: Sendable {
    /// The most events that wait for a gateway's store; further ones are lost, and counted.
    static let limit = 16_384
    /// The most events that wait at a relay, which may be cut off from its gateways for longer than a store fails.
    static let relayLimit = 32_768
    /// The most different refusals of peers without an identity; further ones are counted together.
    static let strangerLimit = 256
    /// The outcome of those.
    static let others = "others"

    private let limit: Int
    private(set) var events: [AuditEvent] = []
    /// How many events were lost since the last ``take()``.
    private(set) var lost = 0
    private var refusals: [[AuditField: String]: Int] = [:]
    private var strangers = 0
    private var others: Int?

    /// - Parameter limit: the most events that wait.
    init(limit: Int = Self.limit) { self.limit = limit }

    var isEmpty: Bool { events.isEmpty && lost == 0 }

    mutating func add(_ event: AuditEvent, mayRepeat: Bool) {
        guard mayRepeat else { return append(event) }
        if let index = refusals[event.fields] { return events[index].repeated() }
        if event[.instance] == nil {
            guard strangers < Self.strangerLimit else { return addOther(event) }
            strangers += 1
        }
        let index = events.count
        append(event)
        if index < events.count { refusals[event.fields] = index }
    }

    /// Takes all of these events or none.
    ///
    /// - Returns: whether they were taken.
    mutating func add(all new: [AuditEvent]) -> Bool {
        guard events.count + new.count <= limit else { return false }
        events += new
        return true
    }

    private mutating func append(_ event: AuditEvent) {
        guard events.count < limit else { return lost += 1 }
        events.append(event)
    }

    private mutating func addOther(_ event: AuditEvent) {
        if let others { return events[others].repeated() }
        var other = AuditEvent(.refusal, by: .peer, at: event.time, outcome: Self.others)
        other[number: .count] = 1
        let index = events.count
        append(other)
        if index < events.count { others = index }
    }

    mutating func take() -> (events: [AuditEvent], lost: Int) {
        defer { self = AuditBuffer(limit: limit) }
        return (events, lost)
    }
}

extension AuditEvent {
    fileprivate mutating func repeated() { self[number: .count] = (self[number: .count] ?? 1) + 1 }
}
