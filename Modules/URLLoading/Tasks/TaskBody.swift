internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// The body of a task's answer: it is not read while the task is suspended, and the bytes that are read are counted.
final class TaskBody: BodySource {
    private let body: ResponseBody
    private let control: LoadTaskControl
    private let total: Int64?
    /// Whether the task ends with the body; else with its value.
    private let endsTask: Bool
    /// Whether the task says by itself how much came.
    private let counts: Bool

    init(_ response: LoadResponse, _ control: LoadTaskControl, endsTask: Bool, counts: Bool) {
        body = response.body
        self.control = control
        self.endsTask = endsTask
        self.counts = counts
        total = response.head.headerFields[.contentLength].flatMap { Int64($0) }
        if endsTask {
            // The Swift task that loaded has ended by now, so a cancellation must reach the body's reader from here.
            // Completed here, since there may be no reader that would notice.
            let endIfCancelled = { @Sendable [body, weak control] in
                guard let control, control.isCancelled else { return }
                body.discard()
                control.ended()
            }
            _ = control.attach(endIfCancelled)
            // A cancellation before this had no listener to call.
            endIfCancelled()
        }
        if counts { control.receivedProgress.set(TransferProgress(completed: 0, total: total)) }
    }

    func next() async throws(LoadError) -> [UInt8]? {
        do throws(LoadError) {
            try await control.proceed()
            let chunk = try await body.next()
            if let chunk, counts { control.receivedProgress.add(Int64(chunk.count), of: total) }
            if chunk == nil, endsTask { control.ended() }
            return chunk
        } catch {
            body.discard()
            if endsTask { control.ended() }
            throw error
        }
    }

    func discard() {
        body.discard()
        if endsTask { control.ended() }
    }

    var trailers: HTTPFields? { body.trailers }
}
