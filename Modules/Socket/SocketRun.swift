internal import SallyportBase
internal import SallyportCore
internal import SallyportTransport

/// One connection of a documented socket, from `connect()` to `onClose`. Docs/Concurrency.md lists the task that runs it.
///
/// It does not keep the socket: whoever lets go of that wants no more callbacks.
struct SocketRun: Sendable {
    private struct Holder { weak var socket: SecureSocket? }

    private let holder: Lock<Holder>
    private let attempt: Int
    private let target: SocketTarget
    private let system: SocketSystem

    init(_ socket: SecureSocket, _ attempt: Int, _ target: SocketTarget, _ system: SocketSystem) {
        holder = Lock(Holder(socket: socket))
        self.attempt = attempt
        self.target = target
        self.system = system
    }

    private var socket: SecureSocket? { holder.withLock { $0.socket } }

    func run() async {
        let connection: SocketConnection
        do throws(SocketError) {
            connection = try await system.connect(target)
        } catch {
            return await tell(.failedToConnect, error)
        }
        guard let buffer = socket?.readStream else { return connection.close() }
        connection.tunnel.whenOver { buffer.stir() }
        await tell(.opened, connection: connection)
        if let error = await read(connection, into: buffer) { await tell(.failed, error) }
        connection.finish()
        await tell(.closed)
    }

    /// Until the server has ended its side; why it broke where it did.
    private func read(_ connection: SocketConnection, into buffer: DirectByteBuffer) async -> SocketError? {
        do throws(SocketError) {
            while let bytes = try await connection.read() {
                buffer.fill(bytes)
                await tell(.received)
                await waitForRoom(in: buffer, connection)
            }
            return nil
        } catch {
            // That the server kept its side open is no error of the app's.
            return error.cause?.underlying is EndTimeout ? nil : error
        }
    }

    /// While the socket is open, and its connection stands, nothing more is read into a buffer that is full. One that is
    /// disconnecting waits for the app as long as for the server.
    private func waitForRoom(in buffer: DirectByteBuffer, _ connection: SocketConnection) async {
        while true {
            let stirs = buffer.stirs
            guard buffer.isFull, connection.tunnel.failure == nil, let state = socket?.socketState, !Task.isCancelled
            else { return }
            guard state == .open else { return await waitBriefly(for: buffer, since: stirs) }
            await buffer.waitForRoom(since: stirs)
        }
    }

    private func waitBriefly(for buffer: DirectByteBuffer, since stirs: Int) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await buffer.waitForRoom(since: stirs) }
            group.addTask { [target] in try? await Task.sleep(for: target.configuration.closeTimeout) }
            await group.next()
            group.cancelAll()
        }
    }

    private func tell(
        _ event: SocketEvent, _ error: SocketError? = nil, connection: SocketConnection? = nil
    ) async {
        guard let socket, let callback = socket.happened(event, in: attempt, connection) else { return }
        await socket.tell(callback, error)
    }
}
