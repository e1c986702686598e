import NIOCore
import NIOEmbedded
import NIOHTTP1

/// The parser of swift-nio, llhttp.
package enum NIOReader {
    /// - Returns: beside the reading, whether the end was known with the last piece only.
    package static func read(_ pieces: [ArraySlice<UInt8>], isHead: Bool) -> (Reading, endsWithLastPiece: Bool) {
        let channel = Self.channel(isHead: isHead)
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        var parts = Parts()
        var end = 0
        do {
            for piece in pieces {
                end += piece.count
                defer { parts.take(from: channel) }
                try channel.writeInbound(ByteBuffer(bytes: piece))
            }
        } catch {
            if !parts.isEnded { return (.refused("\(error)"), false) }
        }
        if parts.isEnded { return (.whole(parts.answer, end: end), parts.endPiece == pieces.count) }
        return (closed(channel, &parts), true)
    }

    /// - Returns: the place of the first byte that is refused; nil where none is.
    static func placeOfRefusal(_ bytes: ArraySlice<UInt8>, isHead: Bool) -> Int? {
        let channel = Self.channel(isHead: isHead)
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        return bytes.indices.first { place in
            do {
                try channel.writeInbound(ByteBuffer(bytes: [bytes[place]]))
                return false
            } catch {
                return true
            }
        }
    }

    /// One that has sent a request.
    private static func channel(isHead: Bool) -> EmbeddedChannel {
        let decoder = HTTPResponseDecoder(leftOverBytesStrategy: .dropBytes, informationalResponseStrategy: .forward)
        let channel = EmbeddedChannel(handler: ByteToMessageHandler(decoder))
        let head = HTTPRequestHead(version: .http1_1, method: isHead ? .HEAD : .GET, uri: "/")
        _ = try? channel.writeOutbound(HTTPClientRequestPart.head(head))
        return channel
    }

    private static func closed(_ channel: EmbeddedChannel, _ parts: inout Parts) -> Reading {
        do {
            _ = try channel.finish()
        } catch {
            return .refused("\(error)")
        }
        parts.take(from: channel)
        return parts.isEnded ? .whole(parts.answer, end: nil) : .cut
    }

    private struct Parts {
        var answer = Answer()
        var isEnded = false
        var isInterim = false
        var pieces = 0
        var endPiece = 0

        mutating func take(from channel: EmbeddedChannel) {
            pieces += 1
            while !isEnded, let part = try? channel.readInbound(as: HTTPClientResponsePart.self) { take(part) }
        }

        private mutating func take(_ part: HTTPClientResponsePart) {
            switch part {
            case .head(let head):
                let status = Int(head.status.code)
                isInterim = (100..<200).contains(status) && status != 101
                if status == 103 { answer.hints.append(fields(head.headers)) }
                guard !isInterim else { return }
                answer.status = status
                answer.fields = fields(head.headers)
            case .body(let bytes): answer.body += bytes.readableBytesView
            // An interim answer has none.
            case .end(let trailers):
                answer.trailers = fields(trailers ?? [:])
                isEnded = true
                endPiece = pieces
            }
        }

        private func fields(_ fields: HTTPHeaders) -> [Answer.Field] {
            fields.map { Answer.Field(name: Array($0.name.utf8), value: Array($0.value.utf8)) }
        }
    }
}
