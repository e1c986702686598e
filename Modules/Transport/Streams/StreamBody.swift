internal import HTTPTypes
internal import SallyportCore
internal import SallyportLoading

/// The body of an answer that comes over a stream. Keeps the peer, and so the stream, while it is in use.
struct StreamBody: BodySource {
    let pipe: BodyPipe
    let peer: StreamPeer

    func next() async throws(LoadError) -> [UInt8]? { try await pipe.next() }

    func discard() { pipe.discard() }

    var trailers: HTTPFields? { pipe.trailers }
}
