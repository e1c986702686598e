internal import HummingbirdCore
internal import NIOCore
internal import Synchronization

/// An accepted connection that was not yet handed to the task that serves it.
///
/// A listener that ends drops the connections that it has accepted and not handed over, and an `NIOAsyncChannel` that
/// is dropped like that ends the process (swift-nio, issue 2813). This closes the connection instead.
final class AcceptedConnection: ServerChildChannelValue {
    private let http: HTTP1Channel.Value
    private let isTaken = Atomic(false)

    var channel: any Channel { http.channel }

    init(_ http: HTTP1Channel.Value) { self.http = http }

    /// Hands the connection to the task that serves and closes it.
    func take() -> HTTP1Channel.Value {
        isTaken.store(true, ordering: .relaxed)
        return http
    }

    deinit {
        guard !isTaken.load(ordering: .relaxed) else { return }
        Task { [http] in try? await http.executeThenClose { _, _ in } }
    }
}
