import Glibc
import SallyportBase
import TestSupport
import Testing

@testable import SallyportCommandLine

/// Streams that do not block, because another process that has them too has set that.
@Suite(.timeLimit(.minutes(1))) struct StandardStreamsTests {
    private let calls = BlockingCalls("sallyport.test")

    private func unblockedPipe() throws -> (reader: Int32, writer: Int32) {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw Unexpected("There is no pipe.") }
        for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        return (ends[0], ends[1])
    }

    private func isFull(_ writer: Int32) -> Bool {
        var place = pollfd(fd: writer, events: Int16(POLLOUT), revents: 0)
        return poll(&place, 1, 0) == 0
    }

    @Test func allIsWrittenToAReaderThatTakesItsTime() async throws {
        let (reader, writer) = try unblockedPipe()
        defer { close(reader) }
        let bytes = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 / 256) }
        let writing = Task { [calls] in
            await calls.call {
                defer { close(writer) }
                return StandardStreams.write(bytes, to: writer)
            }
        }
        #expect(try await eventually { isFull(writer) })
        let taken = await BlockingCalls("sallyport.test.reader").call {
            Workplace.$current.withValue(Workplace(input: reader, defaultStore: "")) {
                var taken: [UInt8] = []
                while true {
                    let more = StandardStreams.read(upTo: 64 << 10)
                    if more.isEmpty { return taken }
                    taken += more
                }
            }
        }
        #expect(await writing.value == true)
        #expect(taken == bytes)
    }

    @Test func inputThatComesLaterIsReadAndIsNotTheEnd() async throws {
        let (reader, writer) = try unblockedPipe()
        defer { for end in [reader, writer] { close(end) } }
        let begins = Lock(false)
        let reading = Task { [calls] in
            await calls.call {
                begins.withLock { $0 = true }
                return Workplace.$current.withValue(Workplace(input: reader, defaultStore: "")) {
                    StandardStreams.read(upTo: 16)
                }
            }
        }
        #expect(try await eventually { begins.withLock { $0 } })
        #expect(StandardStreams.write(Array("later".utf8), to: writer))
        #expect(await reading.value == Array("later".utf8))
    }

    /// The reader may be a stopped terminal: a command that waited would hold a thread that others need.
    @Test func theCommandOfAnotherProcessDoesNotWaitForTheReaderOfItsTexts() async throws {
        let (reader, writer) = try unblockedPipe()
        defer { close(reader) }
        let filling = [UInt8](repeating: 0, count: 1 << 20)
        let filled = max(0, Glibc.write(writer, filling, filling.count))
        #expect(isFull(writer))
        let workplace = Workplace(
            output: writer, error: writer, defaultStore: "", streams: PassedStreams([writer]))
        let isBack = Lock(false)
        let command = Task { [calls] in
            await Workplace.$current.withValue(workplace) {
                _ = await calls.call {
                    StandardStreams.output("first")
                    StandardStreams.error("second")
                    isBack.withLock { $0 = true }
                    return true
                }
                await Workplace.current.finishWriting()
            }
        }
        #expect(try await eventually { isBack.withLock { $0 } })
        let texts = Array("first\nsecond\n".utf8)
        let taken = await BlockingCalls("sallyport.test.reader").call {
            Workplace.$current.withValue(Workplace(input: reader, defaultStore: "")) {
                var taken: [UInt8] = []
                while taken.count < filled + texts.count { taken += StandardStreams.read(upTo: 64 << 10) }
                return taken
            }
        }
        #expect(taken.map { Array($0.dropFirst(filled)) } == texts)
        await command.value
    }

    @Test func aReaderThatIsGoneEndsTheWriting() async throws {
        signal(SIGPIPE, SIG_IGN)
        let (reader, writer) = try unblockedPipe()
        let writing = Task { [calls] in
            await calls.call { StandardStreams.write([UInt8](repeating: 0, count: 1 << 20), to: writer) }
        }
        #expect(try await eventually { isFull(writer) })
        close(reader)
        #expect(await writing.value == false)
        close(writer)
    }
}
