internal import HTTPTypes
internal import SallyportCore
internal import SallyportLoading

/// A body that is stored while it is read.
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
    /// Whether the bytes read before this failure are those that the server sent: the connection ended or timed out, or
    /// the load was ended on this side. After any other failure, no byte of the body is trusted.
    var leavesBytesAsTheyWere: Bool {
        [.connectionLost, .idleTimeout, .resourceTimeout, .cancelled].contains(code)
    }
}
