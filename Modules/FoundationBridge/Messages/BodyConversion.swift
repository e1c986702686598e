internal import Foundation
internal import FoundationNetworking
internal import SallyportCore
internal import SallyportLoading

/// Converts a native task's body to a ``RequestBody``.
struct BodyConversion {
    private let task: NativeTask
    private let length: Int64?

    /// - Parameter declaredLength: the app's `Content-Length`, which gives the length of a stream.
    init(_ task: NativeTask, declaredLength: String?) {
        self.task = task
        length = declaredLength.flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
    }

    func body() -> RequestBody? {
        switch task.body {
        case .none: return nil
        case .bytes(let bytes): return .bytes(bytes)
        case .file(let path): return .file(path)
        case .stream(let stream):
            let pump = StreamPump(stream)
            return .once(length: length) { writer in try await pump.send(to: writer) }
        case .asked:
            guard let delegate = task.session.delegate as? any URLSessionTaskDelegate else { return nil }
            let source = StreamRequest(session: task.session, task: task.task, delegate: delegate)
            return .restartable(length: length) { writer in try await source.stream().send(to: writer) }
        }
    }
}

/// Asks a native delegate for a task's body.
private struct StreamRequest: Sendable {
    let session: URLSession
    let task: URLSessionTask
    let delegate: any URLSessionTaskDelegate

    /// If the delegate answers twice, its first answer counts; if it does not answer, the wait ends when the task is
    /// cancelled.
    func stream() async throws(LoadError) -> StreamPump {
        let (pumps, answer) = AsyncStream.makeStream(of: StreamPump.self, bufferingPolicy: .bufferingOldest(1))
        session.delegateQueue.addOperation {
            delegate.urlSession(session, task: task) { stream in
                if let stream { answer.yield(StreamPump(stream)) }
                answer.finish()
            }
        }
        for await pump in pumps { return pump }
        if Task.isCancelled { throw .cancelled() }
        throw LoadError(.requestBodyFailed, at: .request, "The delegate gave no body.")
    }
}

/// Reads a stream on its own queue, because a read may block until the writer has written.
private final class StreamPump: @unchecked Sendable {
    // SAFETY: `stream` and `isRead` are used only on `queue`, which is serial; the app gave up its own use of the
    // stream when it passed it to the native task.
    private let stream: InputStream
    private var isRead = false
    private let queue = DispatchQueue(label: "sallyport-bridge-body")
    private static let chunkSize = 64 << 10

    init(_ stream: InputStream) { self.stream = stream }

    /// A stream that this pump has not read stays open: a delegate that answers twice may give one stream to two pumps.
    deinit { if isRead { stream.close() } }

    /// Reads more when the previous bytes have been sent.
    func send(to writer: RequestBodyWriter) async throws(LoadError) {
        while let chunk = try await next() { try await writer.write(chunk) }
    }

    /// A read may block for any time: if the task is cancelled, the wait ends without the read.
    private func next() async throws(LoadError) -> [UInt8]? {
        let (chunks, told) = AsyncStream.makeStream(of: [UInt8]?.self)
        queue.async {
            told.yield(self.read())
            told.finish()
        }
        for await chunk in chunks {
            guard let chunk else { throw LoadError(.requestBodyFailed, at: .request, "The body's stream failed.") }
            return chunk.isEmpty ? nil : chunk
        }
        throw .cancelled()
    }

    /// Empty at the end; nil if the stream failed.
    private func read() -> [UInt8]? {
        isRead = true
        if stream.streamStatus == .notOpen { stream.open() }
        var chunk = [UInt8](repeating: 0, count: Self.chunkSize)
        let count = stream.read(&chunk, maxLength: chunk.count)
        guard count >= 0 else { return nil }
        chunk.removeLast(chunk.count - count)
        return chunk
    }
}
