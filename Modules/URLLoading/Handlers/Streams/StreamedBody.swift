internal import HTTPTypes
internal import SallyportCore
internal import SallyportLoading

/// A body that comes over a stream: it ends in the stream's own failure, and keeps the stream while it is read.
struct StreamedBody: BodySource {
    private let body: ResponseBody
    private let peer: StreamPeer
    /// Nothing but the end of the connection says that the body is whole, and that of the socket looks the same when the
    /// stream has failed.
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
