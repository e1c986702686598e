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
        /// The reader of standard output has left.
        case ofReader
    }

    /// Returns when both sides have ended. If standard input is a terminal, the server's end is sufficient. If the
    /// reader of standard output is gone, there is nothing more to do.
    ///
    /// - Throws: what broke the connection. What the server sent before, such as the reason, has been written then,
    ///   unless the app may no longer use the connection. ``CommandFailure`` if standard output cannot be written, as
    ///   on a full disk: the server's bytes are lost then, and the connection is reset.
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
            guard try await writeOutput(bytes) else {
                connection.reset()
                return .ofReader
            }
        }
        // Closed, so that the reader sees the end, even while our side continues.
        _ = await output.call { Workplace.current.closeOutput() }
        return .ofReceiving
    }

    /// Returns false if the reader of standard output has left, or the filter has been cancelled.
    private func writeOutput(_ bytes: [UInt8]) async throws(CommandFailure) -> Bool {
        // Each thread has an errno of its own, so it is read where the bytes are written.
        let written = await output.call { () -> Int32 in
            StandardStreams.write(bytes, to: Workplace.current.output) ? 0 : errno
        }
        guard let number = written, !StandardStreams.isReaderGone(number) else { return false }
        guard number == 0 else { throw OutputFile.unwritten(number) }
        return true
    }
}
