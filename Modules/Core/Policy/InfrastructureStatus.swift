/// Whether the infrastructure behind the app, its gateway, is within reach: what loads that wait for connectivity ask.
///
/// Implemented by whoever holds a connection to it. A load through a relay waits while it is `unreachable`, and is tried
/// again at once when it turns `reachable`.
public protocol InfrastructureStatus: Sendable {
    /// As it is now.
    var infrastructure: InfrastructureState { get }

    /// Each state from now on, the present one first. A consumer that falls behind sees the newest only. Ends with the
    /// one that tells.
    func infrastructureChanges() -> AsyncStream<InfrastructureState>
}

/// What is known of the infrastructure.
public enum InfrastructureState: String, Sendable, Hashable, CustomStringConvertible {
    /// Nobody looks.
    case unknown
    case reachable
    case unreachable

    public var description: String { rawValue }
}

/// The state of an infrastructure, and all who follow it.
package final class InfrastructureBoard: InfrastructureStatus {
    private struct State {
        var state = InfrastructureState.unknown
        var next = 0
        var consumers: [Int: AsyncStream<InfrastructureState>.Continuation] = [:]
    }

    private let state: Lock<State>

    package init(_ infrastructure: InfrastructureState = .unknown) { state = Lock(State(state: infrastructure)) }

    deinit { finish() }

    package var infrastructure: InfrastructureState { state.withLock { $0.state } }

    package func infrastructureChanges() -> AsyncStream<InfrastructureState> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: InfrastructureState.self, bufferingPolicy: .bufferingNewest(1))
        let id = state.withLock { state in
            state.next += 1
            state.consumers[state.next] = continuation
            return state.next
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.consumers.removeValue(forKey: id) }
        }
        // A change in between must not be overtaken by what was before it.
        var told: InfrastructureState?
        while case let present = infrastructure, present != told {
            continuation.yield(present)
            told = present
        }
        return stream
    }

    /// Tells all who follow, where the state is another.
    package func set(_ infrastructure: InfrastructureState) {
        let consumers = state.withLock { state in
            guard state.state != infrastructure else { return [AsyncStream<InfrastructureState>.Continuation]() }
            state.state = infrastructure
            return Array(state.consumers.values)
        }
        for consumer in consumers { consumer.yield(infrastructure) }
    }

    /// Ends all sequences.
    package func finish() {
        let consumers = state.withLock { Array($0.consumers.values) }
        for consumer in consumers { consumer.finish() }
    }
}
