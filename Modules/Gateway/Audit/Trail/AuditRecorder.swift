internal import Foundation
internal import SallyportBase
internal import SallyportCore

/// Takes the access events of a gateway or a relay, from event loops too, which never wait for a store.
///
/// A lock, because the relay's handlers are synchronous. ``AuditTrail`` takes the events from here; at a relay on a
/// machine of its own ``AuditCourier`` does.
final class AuditRecorder: Sendable {
    /// For what runs without a trail: nothing would take the events.
    static let keepsNothing = AuditRecorder(keeps: false)

    private struct State {
        var buffer: AuditBuffer
        /// How many events came so far.
        var count: Int64 = 0
    }

    private let state: Lock<State>
    /// How many of them are in the store.
    private let written = Board<Int64>(0)
    private let keeps: Bool
    private let clock: @Sendable () -> Date
    /// A signal when events wait. Only one task may follow it.
    let signals: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation

    /// - Parameter limit: the most events that wait; further ones are lost, and counted.
    init(
        keeps: Bool = true, limit: Int = AuditBuffer.limit, clock: @escaping @Sendable () -> Date = { Date() }
    ) {
        (self.keeps, self.clock) = (keeps, clock)
        state = Lock(State(buffer: AuditBuffer(limit: limit)))
        (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// Of a relay or a guard on a machine of its own.
    static func ofRelay() -> AuditRecorder { AuditRecorder(limit: AuditBuffer.relayLimit) }

    /// - Parameter mayRepeat: whether an equal event at about the same time becomes one entry with this one.
    func note(_ event: AuditEvent, mayRepeat: Bool = false) {
        guard keeps else { return }
        let wasEmpty = state.withLock { state in
            let wasEmpty = state.buffer.isEmpty
            state.buffer.add(event, mayRepeat: mayRepeat)
            state.count += 1
            return wasEmpty
        }
        if wasEmpty { signal.yield() }
    }

    /// What waits, and how many events came so far, for ``wrote(_:)``.
    func take() -> (events: [AuditEvent], lost: Int, count: Int64) {
        state.withLock { state in
            let (events, lost) = state.buffer.take()
            return (events, lost, state.count)
        }
    }

    func event(_ kind: AuditKind, by actor: AuditActor, outcome: String) -> AuditEvent {
        AuditEvent(kind, by: actor, at: clock(), outcome: outcome)
    }
}

// MARK: Events of others

extension AuditRecorder {
    /// Takes events that a relay on a machine of its own has told.
    ///
    /// - Returns: what ``isWritten(_:)`` is asked with; nil if there is no room for them now.
    func enter(_ events: [AuditEvent]) -> Int64? {
        let (wasEmpty, count) = state.withLock { state -> (Bool, Int64?) in
            let wasEmpty = state.buffer.isEmpty
            guard state.buffer.add(all: events) else { return (false, nil) }
            state.count += Int64(events.count)
            return (wasEmpty, state.count)
        }
        if wasEmpty { signal.yield() }
        return count
    }

    /// So many events are in the store.
    func wrote(_ count: Int64) { written.set(count) }

    /// Waits until so many events are in the store; false if the task is cancelled before.
    func isWritten(_ count: Int64) async -> Bool {
        for await number in written.values() where number >= count { return true }
        return false
    }
}

// MARK: The relay's events

extension AuditRecorder {
    /// The verdict on a CONNECT.
    ///
    /// - Parameters:
    ///   - instance: nil if the peer has no accepted certificate.
    ///   - error: of RFC 9209; nil if a tunnel was opened.
    func connect(_ instance: String?, _ target: Endpoint?, address: IPAddress?, error: String?) {
        var event = event(.connect, by: instance == nil ? .peer : .instance, outcome: error ?? "opened")
        event[.instance] = instance
        event[.target] = target?.description
        event[.address] = address?.description
        note(event, mayRepeat: error != nil)
    }

    /// The end of a tunnel.
    func ended(_ grant: TunnelGrant, _ result: String, _ bytes: (up: Int, down: Int), milliseconds: Int64) {
        var event = event(.tunnel, by: .instance, outcome: result)
        event[.instance] = grant.instance
        event[.target] = grant.target.description
        event[.address] = grant.address.description
        event[number: .sent] = Int64(bytes.up)
        event[number: .received] = Int64(bytes.down)
        event[number: .milliseconds] = milliseconds
        note(event)
    }
}

// MARK: A guard's events

extension AuditRecorder {
    /// The action of what a guard has decided.
    static let guarding = "guard"

    /// The answer to a foreign relay's question.
    ///
    /// - Parameter instance: nil if the peer has no accepted certificate.
    func judged(_ instance: String?, _ target: Endpoint, _ answer: GuardAnswer) {
        var event = event(.connect, by: instance == nil ? .peer : .instance, outcome: answer.outcome)
        event[.action] = Self.guarding
        event[.instance] = instance
        event[.target] = target.description
        let isAllowed = if case .allowed = answer { true } else { false }
        note(event, mayRepeat: !isAllowed)
    }

    /// The end of a foreign relay's tunnel.
    func ended(_ tunnel: GuardedTunnel, _ result: Tunnel.Result) {
        var event = event(.tunnel, by: .instance, outcome: result.rawValue)
        event[.action] = Self.guarding
        event[.instance] = tunnel.instance
        event[.target] = tunnel.target.description
        note(event)
    }
}

// MARK: The control plane's events

extension AuditRecorder {
    /// A request was refused.
    ///
    /// - Parameters:
    ///   - instance: that the certificate names; nil if there is none that is accepted.
    ///   - action: of ``ControlOperation``: never what the peer has sent.
    func refused(_ action: String, _ code: GatewayError.Code, instance: String?, source: String) {
        var event = event(.refusal, by: instance == nil ? .peer : .instance, outcome: code.description)
        event[.action] = action
        event[.instance] = instance
        event[.source] = source
        note(event, mayRepeat: true)
    }
}
