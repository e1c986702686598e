internal import SallyportBase

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
    private let board: Board<InfrastructureState>

    package init(_ infrastructure: InfrastructureState = .unknown) { board = Board(infrastructure) }

    package var infrastructure: InfrastructureState { board.value ?? .unknown }

    package func infrastructureChanges() -> AsyncStream<InfrastructureState> { board.values() }

    /// Tells all who follow, where the state is another.
    package func set(_ infrastructure: InfrastructureState) { board.set(infrastructure) }

    /// Ends all sequences.
    package func finish() { board.finish() }
}
