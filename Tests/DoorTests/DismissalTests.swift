import Glibc
import SallyportEventLoop
import TestSupport
import Testing

@testable import SallyportDoor

/// What a door says to a program that may not come in, before it closes the connection.
@Suite(.timeLimit(.minutes(1))) struct DismissalTests {
    private struct End {
        var refusal: DoorRefusal
        var form: DoorRequest.Form?
        var answer: [UInt8] = []
        /// Whether the answer ends as one that was sent whole.
        var isWhole = false
    }

    /// The program's end of a connection, and the door's, which does not block.
    private func connection() throws -> (program: Int32, door: Int32) {
        var pair: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0 else {
            throw Unexpected("There are no sockets.")
        }
        _ = fcntl(pair[1], F_SETFL, O_NONBLOCK)
        return (pair[0], pair[1])
    }

    /// Dismisses a connection over which a program sends these bytes before it ends its side.
    ///
    /// - Parameter isClosedByDoor: the door's time for it is over, and the program has not ended its side.
    private func dismiss(after bytes: [UInt8], isClosedByDoor: Bool = false) async throws -> End {
        let (program, door) = try connection()
        defer { close(program) }
        _ = write(program, bytes, bytes.count)
        let loop = EventLoop(name: "test")
        let socket = DoorSocket(door, isTCP: false, on: loop)
        let task = Task(executorPreference: loop) { await Dismissal(socket: socket).run() }
        if isClosedByDoor {
            await socket.close(because: .notAdmitted)
        } else {
            shutdown(program, Int32(SHUT_WR))
        }
        let (refusal, form) = await task.value
        await loop.shutdown()
        return read(program, End(refusal: refusal, form: form))
    }

    /// The connection is closed, so that this ends.
    private func read(_ program: Int32, _ start: End) -> End {
        var (end, room) = (start, [UInt8](repeating: 0, count: 4096))
        while true {
            let count = Glibc.read(program, &room, room.count)
            guard count > 0 else {
                end.isWhole = count == 0
                return end
            }
            end.answer += room.prefix(count)
        }
    }

    @Test func aProgramIsToldInTheProtocolInWhichItBeginsToSpeak() async throws {
        let socks = try await dismiss(after: [5, 1, 0])
        #expect(socks.answer == [5, 0xff] && socks.form == .socks5)
        let old = try await dismiss(after: [4, 1, 0, 80, 10, 0, 0, 1, 0])
        #expect(old.answer == [0, 0x5b, 0, 0, 0, 0, 0, 0])
        let http = try await dismiss(after: Array("CONNECT a:1 HTTP/1.1\r\n\r\n".utf8))
        #expect(String(decoding: http.answer, as: UTF8.self).hasPrefix("HTTP/1.1 403 ") && http.form == nil)
        #expect(socks.refusal == .notAdmitted && http.refusal == .notAdmitted)
    }

    /// A connection that is closed with unread bytes is reset.
    @Test func aProgramThatHasSaidMuchGetsItsAnswerToo() async throws {
        let end = try await dismiss(after: [5] + [UInt8](repeating: 0, count: 60 << 10))
        #expect(end.answer == [5, 0xff] && end.isWhole)
    }

    @Test func aProgramThatSaysNothingGetsNoAnswer() async throws {
        let end = try await dismiss(after: [], isClosedByDoor: true)
        #expect(end.answer.isEmpty && end.isWhole && end.refusal == .notAdmitted)
    }

    /// The kernel names no user of a connection that is closed: it may have been the door's own.
    @Test func aProgramThatHasLeftWithoutAWordIsNotCalledAnotherUsers() async throws {
        #expect(try await dismiss(after: []).refusal == .programLost)
    }
}
