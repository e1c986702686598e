internal import HummingbirdCore
internal import NIOCore
internal import Synchronization

/// An accepted connection that was not yet handed to the task that serves it.
///
/// A listener that ends drops the connections that it has accepted and not handed over, and an `NIOAsyncChannel` that
/// is dropped like that ends the process (swift-nio, issue 2813). This closes the connection instead.
final class AcceptedConnection<Connection: Sendable>: Sendable {
    private let connection: Connection
    private let close: @Sendable (Connection) async throws -> Void
    private let isTaken = Atomic(false)

    /// - Parameter close: closes the connection, which was not used.
    init(_ connection: Connection, closingBy close: @escaping @Sendable (Connection) async throws -> Void) {
        (self.connection, self.close) = (connection, close)
    }

    /// Hands the connection to the task that serves and closes it.
    func take() -> Connection {
        isTaken.store(true, ordering: .relaxed)
        return connection
    }

    deinit {
        guard !isTaken.load(ordering: .relaxed) else { return }
        Task { [connection, close] in try? await close(connection) }
    }
}

extension AcceptedConnection where Connection == HTTP1Channel.Value {
    convenience init(_ http: HTTP1Channel.Value) {
        self.init(http) { try await $0.executeThenClose { _, _ in } }
    }
}

extension AcceptedConnection: ServerChildChannelValue where Connection == HTTP1Channel.Value {
    var channel: any Channel { connection.channel }
}

extension AcceptedConnection where Connection == NIOAsyncChannel<ByteBuffer, ByteBuffer> {
    convenience init(bytesOf channel: any Channel) throws {
        self.init(try NIOAsyncChannel(wrappingChannelSynchronously: channel)) {
            try await $0.executeThenClose { _, _ in }
        }
    }
}
