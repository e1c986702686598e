internal import HTTPTypes
internal import SallyportCore
internal import SallyportLoading

/// A body that goes into the store while it is read.
final class StoringBody: BodySource {
    private let body: ResponseBody
    private let writer: EntryWriter

    init(_ body: ResponseBody, into writer: EntryWriter) {
        self.body = body
        self.writer = writer
    }

    var trailers: HTTPFields? { body.trailers }

    func next() async throws(LoadError) -> [UInt8]? {
        do throws(LoadError) {
            let chunk = try await body.next()
            if let chunk { writer.take(chunk) } else { writer.finish() }
            return chunk
        } catch {
            writer.breakOff(error)
            throw error
        }
    }

    func discard() {
        body.discard()
        writer.abandon(.ended)
    }
}

extension LoadError {
    /// Whether what was read of a body before it failed is what the server sent: its connection ended or took too long,
    /// or the load was ended here. After any other failure nothing of the body is relied upon.
    var leavesBytesAsTheyWere: Bool {
        [.connectionLost, .idleTimeout, .resourceTimeout, .cancelled].contains(code)
    }
}
