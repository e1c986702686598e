internal import Foundation
internal import SallyportBase
internal import SallyportCore

/// Takes the access events of a gateway, from event loops too, which never wait for a store.
///
/// A lock, because the relay's handlers are synchronous; ``AuditTrail`` takes the events from here.
final class AuditRecorder: Sendable {
    private let buffer = Lock(AuditBuffer())
    private let clock: @Sendable () -> Date
    /// A signal when events wait. Only one task may follow it.
    let signals: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation

    init(clock: @escaping @Sendable () -> Date = { Date() }) {
        self.clock = clock
        (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// - Parameter mayRepeat: whether an equal event at about the same time becomes one entry with this one.
    func note(_ event: AuditEvent, mayRepeat: Bool = false) {
        let wasEmpty = buffer.withLock { buffer in
            defer { buffer.add(event, mayRepeat: mayRepeat) }
            return buffer.isEmpty
        }
        if wasEmpty { signal.yield() }
    }

    func take() -> (events: [AuditEvent], lost: Int) { buffer.withLock { $0.take() } }

    func event(_ kind: AuditKind, by actor: AuditActor, outcome: String) -> AuditEvent {
        AuditEvent(kind, by: actor, at: clock(), outcome: outcome)
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
