import Dispatch
import Glibc
import SallyportBase
import TestSupport
import Testing

@testable import SallyportCommandLine

/// Calls that block longer than the command that made them.
@Suite(.timeLimit(.minutes(1))) struct BlockingCallsTests {
    /// A command of another process that is cancelled in the middle of a call, which goes on until `release`.
    ///
    /// - Returns: whether its streams are gone.
    private func cancelledCommand(output: Int32, until release: DispatchSemaphore) async throws -> () -> Bool {
        let streams = PassedStreams([output])
        let workplace = Workplace(output: output, defaultStore: "", streams: streams)
        let isBlocked = Lock(false)
        let command = Task {
            await Workplace.$current.withValue(workplace) {
                await BlockingCalls("sallyport.test").call {
                    isBlocked.withLock { $0 = true }
                    release.wait()
                    return true
                }
            }
        }
        #expect(try await eventually { isBlocked.withLock { $0 } })
        command.cancel()
        #expect(await command.value == nil)
        streams.end()
        return { [weak streams] in streams == nil }
    }

    /// The call would otherwise write to what was opened after the command's end, such as another program's connection.
    @Test func aCallThatOutlastsItsCommandKeepsTheNumbersOfItsStreams() async throws {
        var pipe: [Int32] = [-1, -1]
        guard Glibc.pipe(&pipe) == 0 else { throw Unexpected("There is no pipe.") }
        let reader = pipe[0]
        defer { close(reader) }
        let release = DispatchSemaphore(value: 0)
        let areGone = try await cancelledCommand(output: pipe[1], until: release)
        #expect(!areGone() && fcntl(pipe[1], F_GETFD) >= 0)
        // The reader hears of the end at once all the same.
        _ = fcntl(reader, F_SETFL, O_NONBLOCK)
        var byte: UInt8 = 0
        let count = read(reader, &byte, 1)
        #expect(count == 0)
        release.signal()
        #expect(try await eventually { areGone() })
    }

    /// The read would otherwise take what is typed at the terminal after the command.
    @Test func aReadEndsWithTheProcessWhoseInputItIs() async throws {
        var (pipe, pair): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        guard Glibc.pipe(&pipe) == 0, socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0 else {
            throw Unexpected("There are no descriptors.")
        }
        let (writer, ours, theirs) = (pipe[1], pair[0], pair[1])
        defer { for end in [writer, ours] { close(end) } }
        let streams = PassedStreams([pipe[0]], until: ours)
        let workplace = Workplace(input: pipe[0], defaultStore: "", streams: streams)
        @Sendable func read() async -> [UInt8]? {
            await Workplace.$current.withValue(workplace) {
                await BlockingCalls("sallyport.test").call { StandardStreams.read(upTo: 16) }
            }
        }
        StandardStreams.write(Array("typed".utf8), to: writer)
        #expect(await read() == Array("typed".utf8))
        let waiting = Task { await read() }
        close(theirs)
        #expect(await waiting.value == [])
    }

    /// Dispatch has a limited number of threads for all queues. Where reads that wait for input had them all, nothing
    /// could be written.
    @Test func asManyCallsMayBlockAsTheCommandsOfADoorMake() async throws {
        let blocked = Lock(0)
        let release = DispatchSemaphore(value: 0)
        let count = 2 * CommandService.commandLimit
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count {
                group.addTask {
                    _ = await BlockingCalls("sallyport.test").call {
                        blocked.withLock { $0 += 1 }
                        release.wait()
                        return true
                    }
                }
            }
            let areAllBlocked = try await eventually { blocked.withLock { $0 } == count }
            for _ in 0..<count { release.signal() }
            #expect(areAllBlocked, "\(blocked.withLock { $0 }) of \(count)")
            try await group.waitForAll()
        }
    }

    @Test func theErrorOfACallIsThrown() async throws {
        let calls = BlockingCalls("sallyport.test")
        #expect(try await calls.result { 7 } == 7)
        await #expect(throws: Unexpected.self) { try await calls.result { throw Unexpected("no") } }
    }
}
