internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// A body that is decoded while it is read, in bounded pieces.
actor DecodedBody: BodySource {
    private nonisolated let encoded: ResponseBody
    private var decoder: BodyDecoder
    private var isOver = false

    init(_ encoded: ResponseBody, codings: [ContentCoding], limit: InflationLimit) {
        self.encoded = encoded
        decoder = BodyDecoder(codings: codings, limit: limit)
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
        while !isOver {
            if let piece = try decoder.nextPiece() { return piece.isEmpty ? nil : piece }
            if let chunk = try await encoded.next() {
                decoder.received(chunk)
            } else {
                isOver = true
                try decoder.ended()
            }
        }
        return nil
    }

    nonisolated func discard() { encoded.discard() }

    nonisolated var trailers: HTTPFields? { encoded.trailers }
}
