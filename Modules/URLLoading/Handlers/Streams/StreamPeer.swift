internal import SallyportBase
internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading
internal import Synchronization

/// The other end of a stream, for a transport that connects to Unix sockets: listens at one for the first connection,
/// and forwards the bytes between that and the stream.
///
/// This costs a copy and two system calls for each chunk, but there is only one HTTP implementation, with all of its
/// limits.
actor StreamPeer {
    private let stream: ByteStream
    private var socket: String?
    private var carrying: Task<Void, Never>?
    private nonisolated let end = StreamEnd()

    init(_ stream: ByteStream) { self.stream = stream }

    deinit { carrying?.cancel() }

    /// The path of the socket, which takes one connection.
    func path() throws(LoadError) -> String {
        if let socket { return socket }
        let listener = try LocalListener()
        socket = listener.path
        let carrier = StreamCarrier(stream: stream, end: end, loop: EventLoopGroup.shared.any)
        // Unstructured: it goes on between exchanges. See Docs/Concurrency.md.
        carrying = Task { await carrier.run(listener) }
        return listener.path
    }

    /// Why the stream has failed; nil while it has not.
    nonisolated var failure: LoadError? { end.failure }

    /// The stream's own failure, if it is behind one that an exchange ended with.
    nonisolated func reason(of failure: LoadError) -> LoadError {
        guard failure.code == .connectionLost || failure.code == .cannotConnect else { return failure }
        return self.failure ?? failure
    }
}

/// How a stream ended, unless the server or this side closed it.
final class StreamEnd: Sendable {
    private let reason = SetOnce<LoadError>()
    private let isOurs = Atomic(false)

    var failure: LoadError? { reason.value }

    /// Errors of later reads and writes are a consequence of that.
    func isEndedByUs() { isOurs.store(true, ordering: .releasing) }

    func failed(_ failure: LoadError) { if !isOurs.load(ordering: .acquiring) { reason.set(failure) } }
}

/// Carries bytes between a stream and the one connection that a socket takes.
struct StreamCarrier: Sendable {
    let stream: ByteStream
    let end: StreamEnd
    let loop: EventLoop

    /// Returns when both are closed: because either has ended, or when the task is cancelled.
    func run(_ listener: LocalListener) async {
        let connection = await withSocket(listener.descriptor) { await $0.accept() }
        listener.remove()
        if let connection { await withSocket(connection) { await carry($0) } }
        stream.close()
    }

    private func withSocket<Result: Sendable>(
        _ descriptor: Int32, _ body: @Sendable (LocalSocket) async -> Result
    ) async -> Result {
        let socket = LocalSocket(descriptor, on: loop)
        let result = await withTaskCancellationHandler {
            await body(socket)
        } onCancel: {
            socket.closeSoon()
        }
        await socket.close()
        return result
    }

    private func carry(_ socket: LocalSocket) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await sendRequests(of: socket) }
            group.addTask { await handOverAnswers(to: socket) }
        }
    }

    /// Until the connection is closed: then the stream is no longer needed.
    private func sendRequests(of socket: LocalSocket) async {
        do throws(LoadError) {
            while let bytes = await socket.read(upTo: 16 << 10) { try await stream.write(bytes) }
            end.isEndedByUs()
            stream.close()
        } catch {
            await failed(error, socket)
        }
    }

    /// Until the server has ended its side.
    private func handOverAnswers(to socket: LocalSocket) async {
        do throws(LoadError) {
            while let bytes = try await stream.read() {
                guard await socket.write(bytes) else { return }
            }
            await socket.endSending()
        } catch {
            await failed(error, socket)
        }
    }

    /// Set before the connection ends, so that the reader that sees the end finds the reason.
    private func failed(_ failure: LoadError, _ socket: LocalSocket) async {
        end.failed(failure)
        await socket.close()
    }
}
