/// Runs pieces of work at the same time, as many as there are lanes.
enum Lanes {
    /// - Parameter body: runs a piece, given the number of its lane. The results are in the order in which the pieces
    ///   end.
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
