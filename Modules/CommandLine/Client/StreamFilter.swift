import Glibc
import SallyportCore
import SallyportLoading

/// One run of `connect`: standard input is sent to the server, and the server's bytes are written to standard output.
struct StreamFilter: Sendable {
    private let connection: ByteStream
    private let input = BlockingCalls("sallyport.input")
    private let output = Workplace.current.writing

    init(_ connection: ByteStream) { self.connection = connection }

    /// Returns when both sides have ended. If standard input is a terminal, the server's end is sufficient. If the
    /// reader of standard output is gone, there is nothing more to do.
    func run() async throws {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask { try await self.sendInput() }
            group.addTask { try await self.receiveOutput() }
            do {
                while let isOver = try await group.next(), !isOver {}
                group.cancelAll()
            } catch {
                connection.reset()
                group.cancelAll()
                throw error
            }
        }
        await connection.shutdown()
    }

    /// - Returns: false, since the server may still send.
    private func sendInput() async throws -> Bool {
        while let bytes = await input.call({ StandardStreams.read(upTo: 64 << 10) }), !Task.isCancelled {
            guard !bytes.isEmpty else {
                connection.closeWrite()
                return false
            }
            try await connection.write(bytes)
        }
        return false
    }

    /// - Returns: whether there is nothing more to do.
    private func receiveOutput() async throws -> Bool {
        while let bytes = try await connection.read() {
            let isWritten = await output.call { StandardStreams.write(bytes, to: Workplace.current.output) }
            guard isWritten == true else {
                connection.reset()
                return true
            }
        }
        // Closed, so that the reader sees the end, even while our side continues.
        _ = await output.call { Workplace.current.closeOutput() }
        return StandardStreams.inputIsTerminal
    }
}
