import ArgumentParser
import Glibc
import SallyportCore
import SallyportLoading
import SallyportURLLoading
import TestSupport
import Testing

@testable import SallyportCommandLine

/// A fetch that waits for the other side of a pipe ends when it is cancelled, as by Ctrl-C, and holds no thread of the
/// pool meanwhile: in the process of a door, the connections of other programs need them.
@Suite(.timeLimit(.minutes(1))) struct FetchEndTests {
    private let loading = URLLoadingSystem(gate: StubGate())

    private func pipe() throws -> (reader: Int32, writer: Int32) {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw Unexpected("There is no pipe.") }
        return (ends[0], ends[1])
    }

    private func fetching(_ arguments: [String], in workplace: Workplace) -> Task<Void, any Error> {
        let session = loading.makeSession(SessionConfiguration())
        return Task {
            try await Workplace.$current.withValue(workplace) {
                let parsed = try SallyportProgram.parseAsRoot(["fetch", "--store", "s"] + arguments)
                let command = try #require(parsed as? FetchCommand)
                try await Fetch(command, by: nil, in: session).run()
            }
        }
    }

    private func isFull(_ writer: Int32) -> Bool {
        var place = pollfd(fd: writer, events: Int16(POLLOUT), revents: 0)
        return poll(&place, 1, 0) == 0
    }

    /// Takes what is there.
    ///
    /// - Returns: whether all writers have closed the pipe.
    private func hasEnded(_ reader: Int32) -> Bool {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(reader, &bytes, bytes.count)
            guard count > 0 else { return count == 0 }
        }
    }

    @Test func aFetchWhoseOutputIsNotReadEndsWhenItIsCancelled() async throws {
        let server = try TestServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(4 << 20)\r\n\r\n")
            connection.write([UInt8](repeating: 1, count: 4 << 20))
        }
        let (reader, writer) = try pipe()
        defer { close(reader) }
        _ = fcntl(reader, F_SETFL, O_NONBLOCK)
        let streams = PassedStreams([writer])
        let fetch = fetching(
            ["http://127.0.0.1:\(server.port)/"],
            in: Workplace(output: writer, defaultStore: "", streams: streams))
        #expect(try await eventually { isFull(writer) })
        fetch.cancel()
        await #expect(throws: (any Error).self) { try await fetch.value }
        streams.end()
        #expect(try await eventually { hasEnded(reader) })
    }

    @Test func aFetchWhoseInputGoesOnEndsWhenItIsCancelled() async throws {
        let (reader, writer) = try pipe()
        defer { close(writer) }
        let fetch = fetching(
            ["-d", "@-", "http://127.0.0.1:9/"],
            in: Workplace(input: reader, defaultStore: "", streams: PassedStreams([reader])))
        fetch.cancel()
        await #expect(throws: (any Error).self) { try await fetch.value }
    }

    /// Head and body are written by one queue, so that their order holds.
    @Test func theHeadIsWrittenBeforeTheBody() async throws {
        let server = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody") }
        let (reader, writer) = try pipe()
        defer { close(reader) }
        let streams = PassedStreams([writer])
        let fetch = fetching(
            ["-i", "http://127.0.0.1:\(server.port)/"],
            in: Workplace(output: writer, defaultStore: "", streams: streams))
        try await fetch.value
        streams.end()
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(reader, &bytes, bytes.count)
        let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.1 200") && text.hasSuffix("\n\nbody"), "\(text)")
    }

    @Test func aBodyIsWrittenWholeToAReaderThatTakesItsTime() async throws {
        let body = [UInt8](repeating: 7, count: 1 << 20)
        let server = try TestServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n")
            connection.write(body)
            connection.awaitEnd()
        }
        let (reader, writer) = try pipe()
        defer { close(reader) }
        let streams = PassedStreams([writer])
        let fetch = fetching(
            ["http://127.0.0.1:\(server.port)/"],
            in: Workplace(output: writer, defaultStore: "", streams: streams))
        #expect(try await eventually { isFull(writer) })
        let taken = await BlockingCalls("sallyport.test").call {
            var bytes = [UInt8](repeating: 0, count: body.count)
            var count = 0
            while count < bytes.count {
                let more = bytes[count...].withUnsafeMutableBytes { read(reader, $0.baseAddress, $0.count) }
                guard more > 0 else { break }
                count += more
            }
            return Array(bytes[..<count])
        }
        try await fetch.value
        #expect(taken == body)
        streams.end()
    }
}
