import Glibc
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportTransport

/// When writers may send over a tunnel's connection, and how much, with a socket without TLS.
@Suite(.timeLimit(.minutes(1)))
struct TunnelWireTests {
    /// Two ends of a connection, of which the tunnel has one.
    private final class Ends {
        let ours: Int32
        private var theirs: Int32

        init() throws {
            var ends: [Int32] = [-1, -1]
            let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
            guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw Unexpected("no pair of sockets") }
            (ours, theirs) = (ends[0], ends[1])
        }

        deinit {
            close(ours)
            closeTheirs()
        }

        /// The peer leaves; what it has sent stays readable.
        func closeTheirs() {
            if theirs >= 0 { close(theirs) }
            theirs = -1
        }

        /// What came at the other end.
        func takeAll() -> Int {
            var (all, room) = (0, [UInt8](repeating: 0, count: 65536))
            while case let count = recv(theirs, &room, room.count, 0), count > 0 { all += count }
            return all
        }
    }

    private let ends: Ends
    private let wire: TunnelWire

    init() throws {
        ends = try Ends()
        let link = try #require(TunnelLink(ends.ours, []))
        wire = TunnelWire(
            link, TunnelLimits(idleTimeout: nil, countsPauses: true, deadline: nil),
            StreamFacts(connection: ConnectionFacts()))
    }

    /// The loop has looked, and found nothing to send.
    private func look() {
        wire.beginSending()
        wire.stopSending()
    }

    @Test func aWriterSendsByItselfOnceTheLoopHasNothingLeft() {
        #expect(wire.sendAtOnce([1, 2]) == nil)
        look()
        #expect(wire.sendAtOnce([1, 2]) == 2 && wire.sentBytes == 2)
        wire.beginSending()
        #expect(wire.sendAtOnce([3]) == nil)
        wire.stopSending()
        #expect(wire.sendAtOnce([4]) == 1)
        #expect(ends.takeAll() == 3)
    }

    @Test func aWriterThatNeverWaitsLetsTheLoopLook() {
        look()
        let chunk = [UInt8](repeating: 7, count: 32 << 10)
        var sent = 0
        while let count = wire.sendAtOnce(chunk) {
            sent += count
            #expect(ends.takeAll() == count)
            guard sent < 100 << 20 else { break }
        }
        #expect(sent == TunnelWire.turn)
        look()
        #expect(wire.sendAtOnce(chunk) == chunk.count)
    }

    @Test func nothingOvertakesWhatIsHandedOver() {
        look()
        let sent = wire.sendAtOnce([UInt8](repeating: 7, count: 16 << 20)) ?? 0
        #expect(sent > 0 && sent < 16 << 20)
        // Also where nothing of it was taken: it may be enciphered already.
        wire.handedOver()
        look()
        #expect(wire.sendAtOnce([1]) == 0)
        #expect(ends.takeAll() == sent)
        look()
        #expect(wire.sendAtOnce([1]) == nil)
        wire.handedOver()
        #expect(wire.sendAtOnce([1]) == 1)
    }

    @Test func afterTheEndWritersSendNothing() {
        look()
        wire.end()
        look()
        #expect(wire.sendAtOnce([1]) == nil)
    }

    /// The send takes the socket's error, and the kernel reports a plain end from then on.
    @Test func anEndIsAFailureOnceASendHasFailed() {
        look()
        ends.closeTheirs()
        #expect(wire.sendAtOnce([1]) == 0)
        var room = [UInt8](repeating: 0, count: 16)
        let outcome = room.withUnsafeMutableBytes { wire.receive(into: $0) }
        guard case .failed = outcome else {
            Issue.record("After the failed send, the read returned \(outcome).")
            return
        }
    }

    @Test func aConnectionThatIsGoneTakesNothing() {
        look()
        #expect(wire.takeLink() != nil && wire.takeLink() == nil)
        #expect(wire.sendAtOnce([1]) == nil)
        if case .failed = wire.send([1]), case .failed = wire.endSending() { return }
        Issue.record("There is no connection.")
    }
}
