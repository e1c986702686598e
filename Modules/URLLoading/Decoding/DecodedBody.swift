internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// A body that is decoded while it is read, in bounded pieces, on the task that reads it.
final class DecodedBody: BodySource {
    private let encoded: ResponseBody
    private let state: Lock<State>

    /// Touched by the one consumer only; the lock makes that safe to say and is never contended.
    private struct State: ~Copyable {
        var decoder: BodyDecoder
        var isOver = false
    }

    init(_ encoded: ResponseBody, codings: [ContentCoding], limit: InflationLimit) {
        self.encoded = encoded
        state = Lock(State(decoder: BodyDecoder(codings: codings, limit: limit)))
    }

    func next() async throws(LoadError) -> [UInt8]? {
        do throws(LoadError) {
            return try await nextChunk()
        } catch {
            encoded.discard()
            throw error
        }
    }

    private func nextChunk() async throws(LoadError) -> [UInt8]? {
        while true {
            let piece = try state.withLock { state throws(LoadError) in
                state.isOver ? [] : try state.decoder.nextPiece()
            }
            if let piece { return piece.isEmpty ? nil : piece }
            let chunk = try await encoded.next()
            try state.withLock { state throws(LoadError) in
                if let chunk {
                    state.decoder.received(chunk)
                } else {
                    state.isOver = true
                    try state.decoder.ended()
                }
            }
        }
    }

    func discard() { encoded.discard() }

    var trailers: HTTPFields? { encoded.trailers }
}
