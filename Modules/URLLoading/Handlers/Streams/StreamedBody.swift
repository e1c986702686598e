internal import HTTPTypes
internal import SallyportCore
internal import SallyportLoading

/// A body that comes over a stream: it ends with the stream's own failure, and retains the stream while it is read.
struct StreamedBody: BodySource {
    private let body: ResponseBody
    private let peer: StreamPeer
    /// Only the end of the connection shows that the body is complete, and a failed stream ends the socket in the same
    /// way.
    private let isDelimitedByClose: Bool

    init(_ body: ResponseBody, of head: HTTPResponse, from peer: StreamPeer) {
        self.body = body
        self.peer = peer
        isDelimitedByClose = head.headerFields[.contentLength] == nil && head.headerFields[.transferEncoding] == nil
    }

    func next() async throws(LoadError) -> [UInt8]? {
        do throws(LoadError) {
            if let chunk = try await body.next() { return chunk }
        } catch {
            throw peer.reason(of: error)
        }
        if isDelimitedByClose, let failure = peer.failure { throw failure }
        return nil
    }

    func discard() { body.discard() }

    var trailers: HTTPFields? { body.trailers }
}
