import Glibc
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportCommandLine

/// What `connect` writes of a server that takes no more, and how it ends if its output cannot be written.
@Suite(.timeLimit(.minutes(1))) struct StreamFilterTests {
    /// More than a pipe holds, in several pieces: a filter that stopped at the failed write would not have written all.
    private static let answer = [[UInt8]](repeating: [UInt8](repeating: 65, count: 64 << 10), count: 64)

    /// Runs the filter with input that the server does not take.
    private func written(_ channel: RefusingChannel) async throws -> (bytes: [UInt8], failure: LoadError?) {
        let folder = try TemporaryDirectory()
        let input = open(try folder.write("more than it takes", to: "in"), O_RDONLY | O_CLOEXEC)
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let (reader, writer) = (ends[0], ends[1])
        defer { for descriptor in [input, reader] { close(descriptor) } }
        async let bytes = BlockingCalls("sallyport.test").call { Self.all(of: reader) }
        var failure: LoadError?
        do {
            try await Workplace.$current.withValue(Workplace(input: input, output: writer, defaultStore: "")) {
                try await StreamFilter(ByteStream(over: channel)).run()
            }
        } catch let error as LoadError {
            failure = error
        }
        close(writer)
        return (await bytes ?? [], failure)
    }

    private static func all(of reader: Int32) -> [UInt8] {
        var all: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = read(reader, &piece, piece.count)
            guard count > 0 else { return all }
            all += piece[..<count]
        }
    }

    /// Whether the server ends in order behind its answer, or resets the connection.
    @Test(arguments: [nil, LoadError(.connectionLost, at: .response, "The server reset the connection.")])
    func itsLastAnswerIsWrittenAlthoughItTakesNoMore(_ end: LoadError?) async throws {
        let channel = try RefusingChannel(LoadError(.connectionLost, "The server takes no more."), Self.answer, end)
        let outcome = try await written(channel)
        #expect(outcome.bytes.count == Self.answer.count * 64 << 10)
        #expect(outcome.failure?.code == .connectionLost)
    }

    @Test func anAppThatIsWithdrawnGetsNoMore() async throws {
        let channel = try RefusingChannel(LoadError(.withdrawn, "The app is withdrawn."), [])
        let outcome = try await written(channel)
        #expect(outcome.bytes.isEmpty && outcome.failure?.code == .withdrawn)
    }

    // MARK: Output that cannot be written

    /// Runs the filter with a server that answers. The descriptor is closed.
    private func run(writingTo output: Int32) async throws {
        let folder = try TemporaryDirectory()
        let input = open(try folder.write("a request", to: "in"), O_RDONLY | O_CLOEXEC)
        defer { for descriptor in [input, output] { close(descriptor) } }
        let channel = try RefusingChannel(LoadError(.connectionLost, "The server takes no more."), Self.answer)
        try await Workplace.$current.withValue(Workplace(input: input, output: output, defaultStore: "")) {
            try await StreamFilter(ByteStream(over: channel)).run()
        }
    }

    @Test func outputThatCannotBeWrittenIsAFailure() async throws {
        let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
        let failure = await #expect(throws: CommandFailure.self) { try await run(writingTo: full) }
        #expect(failure?.status == .inputOutput)
        #expect(failure?.message == "The output cannot be written: No space left on device.")
    }

    @Test func aReaderThatHasLeftIsNoFailure() async throws {
        signal(SIGPIPE, SIG_IGN)
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        close(ends[0])
        try await run(writingTo: ends[1])
    }

    /// As of a program that is started by inetd.
    @Test func aReaderThatHasResetItsSocketIsNoFailure() async throws {
        signal(SIGPIPE, SIG_IGN)
        let reader = try TestServer { $0.reset() }
        let output = try #require(LoopbackPort.connect(reader.port))
        let isReset = try await eventually {
            var state = pollfd(fd: output, events: 0, revents: 0)
            return poll(&state, 1, 0) == 1
        }
        try #require(isReset)
        try await run(writingTo: output)
        reader.stop()
    }
}

/// A connection whose writes fail. What the server has said before can be read after the first of them; then the
/// connection ends, in order or by a failure. Without an answer it stays open.
private final class RefusingChannel: ByteChannel {
    let endpoint: Endpoint
    let failure: LoadError?
    private let refusal: LoadError
    private let answer: [[UInt8]]
    private let end: LoadError?
    private let down = BodyPipe()

    init(_ refusal: LoadError, _ answer: [[UInt8]], _ end: LoadError? = nil) throws {
        endpoint = try Endpoint("a.example:1")
        failure = refusal
        (self.refusal, self.answer, self.end) = (refusal, answer, end)
    }

    var facts: StreamFacts { StreamFacts(connection: ConnectionFacts()) }
    var sentBytes: Int { 0 }
    var receivedBytes: Int { 0 }
    var readBytes: Int { 0 }
    var unsentBytes: Int { 0 }
    var isBeingRead: Bool { false }

    func read(upTo limit: Int) async throws(LoadError) -> [UInt8]? { try await down.next(upTo: min(limit, 64 << 10)) }

    func write(_ bytes: [UInt8]) async throws(LoadError) {
        if !answer.isEmpty {
            for piece in answer { _ = down.push(piece) }
            down.finish(end)
        }
        throw refusal
    }

    func send(_ bytes: [UInt8]) {}
    func closeWrite() {}
    func shutdown(within limit: Duration) { down.discard() }
    func close() { down.discard() }
    func reset() { down.discard() }
    func whenOver(_ tell: @escaping @Sendable () -> Void) { tell() }
}
