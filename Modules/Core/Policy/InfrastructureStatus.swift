internal import SallyportBase

/// Whether the infrastructure of the app, its gateway, is reachable; used by loads that wait for connectivity.
///
/// Implemented by parts that have a connection to it. A load through a relay waits while it is `unreachable`, and is
/// tried again as soon as it is `reachable`.
public protocol InfrastructureStatus: Sendable {
    /// The current state.
    var infrastructure: InfrastructureState { get }

    /// Each state from now on, beginning with the current one. A slow reader skips to the newest. Ends when the
    /// implementing part shuts down.
    func infrastructureChanges() -> AsyncStream<InfrastructureState>
}

/// The known state of the infrastructure.
public enum InfrastructureState: String, Sendable, Hashable, CustomStringConvertible {
    /// It is not being observed.
    case unknown
    /// There is contact now.
    case reachable
    /// It is being tried, and there is no contact.
    case unreachable

    public var description: String { rawValue }
}

/// The state of an infrastructure, and its observers.
package final class InfrastructureBoard: InfrastructureStatus {
    private let board: Board<InfrastructureState>

    package init(_ infrastructure: InfrastructureState = .unknown) { board = Board(infrastructure) }

    package var infrastructure: InfrastructureState { board.value ?? .unknown }

    package func infrastructureChanges() -> AsyncStream<InfrastructureState> { board.values() }

    /// Sets the state and, if it differs, broadcasts it.
    package func set(_ infrastructure: InfrastructureState) { board.set(infrastructure) }

    /// Ends all sequences.
    package func finish() { board.finish() }
}
