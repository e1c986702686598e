import Glibc
import TestSupport
import Testing

@testable import SallyportDoor

/// What a door says to a program that may not come in, before it closes the connection.
@Suite(.timeLimit(.minutes(1))) struct DismissalTests {
    /// Dismisses a connection over which these bytes have come; nil for one that its program has closed.
    private func dismiss(after bytes: [UInt8]?) throws -> (dismissal: Dismissal, answer: [UInt8]) {
        var pair: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0 else {
            throw Unexpected("There are no sockets.")
        }
        defer { close(pair[1]) }
        _ = fcntl(pair[0], F_SETFL, O_NONBLOCK)
        if let bytes {
            _ = write(pair[1], bytes, bytes.count)
        } else {
            shutdown(pair[1], Int32(SHUT_RDWR))
        }
        let dismissal = Dismissal.of(pair[0])
        // The connection is closed, so that this ends.
        var (answer, room) = ([UInt8](), [UInt8](repeating: 0, count: 4096))
        while case let count = read(pair[1], &room, room.count), count > 0 { answer += room.prefix(count) }
        return (dismissal, answer)
    }

    @Test func aProgramIsToldInTheProtocolInWhichItHasBegunToSpeak() throws {
        let socks = try dismiss(after: [5, 1, 0])
        #expect(socks.answer == [5, 0xff] && socks.dismissal.form == .socks5)
        #expect(try dismiss(after: [4, 1, 0, 80, 10, 0, 0, 1, 0]).answer == [0, 0x5b, 0, 0, 0, 0, 0, 0])
        let http = try dismiss(after: Array("CONNECT a:1 HTTP/1.1\r\n\r\n".utf8))
        #expect(String(decoding: http.answer, as: UTF8.self).hasPrefix("HTTP/1.1 403 ") && http.dismissal.form == nil)
        #expect(socks.dismissal.refusal == .notAdmitted && http.dismissal.refusal == .notAdmitted)
    }

    /// A program of HTTP finds the answer when it has sent its request, which then arrives nowhere.
    @Test func aProgramThatHasSaidNothingIsNotWaitedFor() throws {
        let (dismissal, answer) = try dismiss(after: [])
        #expect(String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.1 403 "))
        #expect(dismissal.refusal == .notAdmitted)
    }

    /// The kernel names no user of a connection that is closed: it may have been the door's own.
    @Test func aProgramThatHasLeftWithoutAWordIsNotCalledAnotherUsers() throws {
        #expect(try dismiss(after: nil).dismissal.refusal == .programLost)
    }
}
