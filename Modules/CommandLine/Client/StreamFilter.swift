import Glibc
import SallyportCore
import SallyportLoading

/// One run of `connect`: standard input is sent to the server, and the server's bytes are written to standard output.
struct StreamFilter: Sendable {
    private let connection: ByteStream
    private let input = BlockingCalls("sallyport.input")
    private let output = Workplace.current.writing

    init(_ connection: ByteStream) { self.connection = connection }

    private enum End: Sendable {
        /// Nothing more is sent. A failure is the server's, which takes no more.
        case ofSending(LoadError?)
        /// The server has ended its side, and its reader has all.
        case ofReceiving
        /// Nothing can be written to standard output any more.
        case ofReader
    }

    /// Returns when both sides have ended. If standard input is a terminal, the server's end is sufficient. If the
    /// reader of standard output is gone, there is nothing more to do.
    ///
    /// - Throws: what broke the connection. What the server sent before, such as the reason, has been written then,
    ///   unless the app may no longer use the connection.
    func run() async throws {
        try await withThrowingTaskGroup(of: End.self) { group in
            group.addTask { try await self.sendInput() }
            group.addTask { try await self.receiveOutput() }
            do {
                try await Self.awaitEnds(of: &group)
                group.cancelAll()
            } catch {
                connection.reset()
                group.cancelAll()
                throw error
            }
        }
        await connection.shutdown()
    }

    private static func awaitEnds(of group: inout ThrowingTaskGroup<End, any Error>) async throws {
        var unsent: LoadError?
        var isOver = false
        while !isOver, let end = try await group.next() {
            switch end {
            case .ofSending(let failure): unsent = failure
            case .ofReceiving: isOver = StandardStreams.inputIsTerminal
            case .ofReader: return
            }
        }
        if let unsent { throw unsent }
    }

    /// A server that takes no more may have said why, which is still to be received.
    private func sendInput() async throws -> End {
        while let bytes = await input.call({ StandardStreams.read(upTo: 64 << 10) }), !Task.isCancelled {
            guard !bytes.isEmpty else {
                connection.closeWrite()
                break
            }
            do throws(LoadError) {
                try await connection.write(bytes)
            } catch {
                guard !error.endsTheWay, error.code != .cancelled else { throw error }
                return .ofSending(error)
            }
        }
        return .ofSending(nil)
    }

    private func receiveOutput() async throws -> End {
        while let bytes = try await connection.read() {
            let isWritten = await output.call { StandardStreams.write(bytes, to: Workplace.current.output) }
            guard isWritten == true else {
                connection.reset()
                return .ofReader
            }
        }
        // Closed, so that the reader sees the end, even while our side continues.
        _ = await output.call { Workplace.current.closeOutput() }
        return .ofReceiving
    }
}
