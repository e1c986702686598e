internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading
internal import SallyportTransport

/// One connection of a ``SecureSocket``, from `connect()` to `onClose`. Docs/Concurrency.md lists the task that runs
/// it.
///
/// It holds the socket weakly: once the app releases the socket, there are no more callbacks.
struct SocketRun: Sendable {
    /// The socket's reference to its run.
    struct Handle: Sendable {
        fileprivate let task: Task<Void, Never>
        fileprivate let stirring: AsyncStream<Void>.Continuation

        func cancel() {
            task.cancel()
            stirring.finish()
        }

        /// Wakes the run, because there may be room again or because it should stop waiting for room.
        func stir() { stirring.yield() }
    }

    /// Returns nil once the socket was released.
    private let socket: @Sendable () -> SecureSocket?
    private let attempt: Int
    private let target: SocketTarget
    private let system: SocketSystem
    private let stirs: AsyncStream<Void>
    private let stirring: AsyncStream<Void>.Continuation

    /// - Parameter earlier: the socket's previous connection, if there was one.
    static func begin(
        for socket: SecureSocket, _ attempt: Int, _ target: SocketTarget, _ system: SocketSystem,
        after earlier: Handle?
    ) -> Handle {
        let (stirs, stirring) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let run = SocketRun(
            socket: { [weak socket] in socket }, attempt: attempt, target: target, system: system, stirs: stirs,
            stirring: stirring)
        return Handle(task: Task { await run.run(after: earlier?.task) }, stirring: stirring)
    }

    @concurrent private func run(after earlier: Task<Void, Never>?) async {
        // The socket may connect again while, or even before, `onClose` runs: callbacks come one at a time.
        await earlier?.value
        let stream: ByteStream
        do throws(LoadError) {
            stream = try await system.connect(target)
        } catch {
            return await tell(.failedToConnect, SocketError(error))
        }
        stream.channel.whenOver { [stirring] in stirring.yield() }
        await tell(.opened, stream: stream)
        if let error = await read(stream) { await tell(.failed, error) }
        stream.finish()
        await tell(.closed)
    }

    /// Reads until the server has ended its side. Returns the error if the connection broke.
    private func read(_ stream: ByteStream) async -> SocketError? {
        do throws(LoadError) {
            while let bytes = try await stream.read() {
                guard let callback = await socket()?.received(bytes, in: attempt) else { return nil }
                await socket()?.tell(callback, nil)
                await waitForRoom(stream)
            }
            return nil
        } catch {
            // If the server keeps its side open, that is not an error of the app.
            return error.underlying is EndTimeout ? nil : SocketError(error)
        }
    }

    /// While the socket is open and connected, nothing more is read into a full buffer. A disconnecting socket waits
    /// for the app only as long as for the server.
    private func waitForRoom(_ stream: ByteStream) async {
        while stream.channel.failure == nil, !Task.isCancelled, let state = await socket()?.stateWithoutRoom {
            guard state == .open else {
                _ = await untilDeadline(.now + target.configuration.closeTimeout) { await self.waitForStir() }
                return
            }
            await waitForStir()
        }
    }

    private func waitForStir() async {
        var stirs = stirs.makeAsyncIterator()
        await stirs.next()
    }

    private func tell(_ event: SocketEvent, _ error: SocketError? = nil, stream: ByteStream? = nil) async {
        guard let socket = socket(),
            let callback = await socket.happened(event, in: attempt, stream)
        else { return }
        await socket.tell(callback, error)
    }
}
