/// Work that goes on side by side, as many pieces at a time as there are lanes.
enum Lanes {
    /// - Parameter body: for a piece, with the number of its lane. What it returns comes in the order in which it ends.
    static func run<Piece: Sendable, Result: Sendable>(
        _ pieces: [Piece], count: Int, _ body: @escaping @Sendable (Piece, Int) async throws -> Result,
        each: (Result) -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: (Int, Result).self) { group in
            var rest = pieces[...]
            func start(in lane: Int) {
                guard let piece = rest.popFirst() else { return }
                group.addTask { try await (lane, body(piece, lane)) }
            }
            for lane in 0..<count { start(in: lane) }
            while let (lane, result) = try await group.next() {
                start(in: lane)
                each(result)
            }
        }
    }
}
