internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading
internal import SallyportSecureStore

/// A stored body as it is read, piece by piece: no snapshot of the store is held between two of them.
final class StoredBody: BodySource {
    /// Gives what follows so many octets, when the store does not any more.
    typealias Recovery = @Sendable (_ given: Int64) async throws(LoadError) -> ResponseBody

    private struct State: ~Copyable {
        var chunks: StoredChunks.Iterator
        var skip: Int64
        var left: Int64
        var given: Int64 = 0
        var rest: ResponseBody?
    }

    private let state: Lock<State>
    private let recover: Recovery

    init(_ chunks: StoredChunks, skipping skip: Int64, count: Int64, recover: @escaping Recovery) {
        state = Lock(State(chunks: chunks.makeAsyncIterator(), skip: skip, left: count))
        self.recover = recover
    }

    private enum Piece: Sendable {
        case octets([UInt8])
        case end
        case lost(given: Int64)
        case elsewhere(ResponseBody)
    }

    func next() async throws(LoadError) -> [UInt8]? {
        switch state.withLock({ Self.piece(&$0) }) {
        case .octets(let octets): return octets
        case .end: return nil
        case .elsewhere(let rest): return try await take(from: rest)
        case .lost(let given):
            let rest = try await recover(given)
            state.withLock { $0.rest = rest }
            return try await take(from: rest)
        }
    }

    private static func piece(_ state: inout State) -> Piece {
        if let rest = state.rest { return .elsewhere(rest) }
        while state.left > 0 {
            guard var octets = (try? state.chunks.nextPiece()) ?? nil else { return .lost(given: state.given) }
            let skipped = min(state.skip, Int64(octets.count))
            state.skip -= skipped
            if skipped > 0 { octets.removeFirst(Int(skipped)) }
            if octets.isEmpty { continue }
            return .octets(cut(octets, &state))
        }
        return .end
    }

    private static func cut(_ octets: [UInt8], _ state: inout State) -> [UInt8] {
        let octets = Int64(octets.count) > state.left ? Array(octets.prefix(Int(state.left))) : octets
        state.left -= Int64(octets.count)
        state.given += Int64(octets.count)
        return octets
    }

    private func take(from rest: ResponseBody) async throws(LoadError) -> [UInt8]? {
        let isOver = state.withLock { $0.left <= 0 }
        guard !isOver else {
            rest.discard()
            return nil
        }
        guard let octets = try await rest.next() else {
            throw LoadError(.connectionLost, at: .response, "A stored body was lost while it was read.")
        }
        return state.withLock { Self.cut(octets, &$0) }
    }

    func discard() {
        let rest = state.withLock { state in
            state.left = 0
            return state.rest
        }
        rest?.discard()
    }
}

/// A body without its first octets.
final class SkippingBody: BodySource {
    private let body: ResponseBody
    private let skip: Lock<Int64>

    init(_ body: ResponseBody, skipping skip: Int64) {
        self.body = body
        self.skip = Lock(skip)
    }

    func next() async throws(LoadError) -> [UInt8]? {
        while let octets = try await body.next() {
            let skipped = skip.withLock { skip in
                let skipped = min(skip, Int64(octets.count))
                skip -= skipped
                return Int(skipped)
            }
            if skipped < octets.count { return skipped == 0 ? octets : Array(octets[skipped...]) }
        }
        return nil
    }

    func discard() { body.discard() }

    var trailers: HTTPFields? { body.trailers }
}
