import SallyportCore
import SallyportEventLoop
import Testing

@testable import SallyportTransport

/// What counts as a connection among libcurl's sockets, and which attempts have lost theirs.
struct CurlSocketsTests {
    private let origin: Origin
    private let attempt: Attempt

    init() throws {
        origin = Origin(endpoint: try Endpoint("a.example:80"), isSecure: false, isHTTP1Only: false)
        attempt = Attempt(OriginClaim(origin: origin, limit: 1), since: .now, orByOtherCluster: false)
        attempt.step = .connect
    }

    private func sockets(_ descriptor: Int32 = 7) -> CurlSockets {
        var sockets = CurlSockets()
        sockets.opened(descriptor, by: attempt, interest: .none)
        return sockets
    }

    @Test func aSocketIsAConnectionOnceItsBytesWereWaitedFor() {
        var sockets = sockets()
        sockets.waits(7, for: .write)
        #expect(sockets.interest(in: 7) == .write && !sockets.hasIdle(to: origin))
        sockets.waits(7, for: .read)
        #expect(sockets.idleOrigins.isEmpty)
        #expect(sockets.rests(7) == true)
        #expect(sockets.hasIdle(to: origin) && sockets.idleOrigins == [origin])
        #expect(sockets.remove(7) == origin && !sockets.hasStalled)
        #expect(sockets.interest(in: 7) == nil && sockets.idleOrigins.isEmpty)
    }

    @Test func anAttemptHasLostASocketForWhichNothingWaitsBeforeItIsConnected() {
        var sockets = sockets()
        sockets.waits(7, for: .write)
        #expect(sockets.rests(7) == false)
        #expect(sockets.remove(7) == origin && sockets.hasStalled)
        #expect(sockets.takeStalled().map(ObjectIdentifier.init) == [ObjectIdentifier(attempt)])
        #expect(!sockets.hasStalled && sockets.takeStalled().isEmpty)
    }

    /// Another address was quicker.
    @Test func anAttemptThatIsConnectedHasLostNothing() {
        var sockets = sockets()
        _ = sockets.remove(7)
        attempt.step = .response
        #expect(sockets.takeStalled().isEmpty)
    }

    /// libcurl waits for nothing before it hands a plain connection over.
    @Test func aConnectionThatIsTakenOverIsNotLost() {
        var sockets = sockets()
        #expect(sockets.rests(7) == false && sockets.remove(7) == origin)
        #expect(sockets.takesOver(7) == false)
        #expect(!sockets.hasStalled)

        var others = self.sockets(8)
        others.waits(8, for: .read)
        #expect(others.takesOver(8) == true && others.remove(8) == nil)
    }

    /// libcurl closes the first socket silently, and has waited for the number all along.
    @Test func theNextSocketOfANumberGoesOnWithWhatIsWaitedFor() {
        var sockets = sockets()
        sockets.waits(7, for: .write)
        let interest = sockets.interest(in: 7) ?? .none
        #expect(sockets.remove(7) == origin)
        sockets.opened(7, by: attempt, interest: interest)
        #expect(sockets.interest(in: 7) == .write && sockets.idleOrigins.isEmpty)
    }

    @Test func aDescriptorThatIsNoSocketOfLibcurlsIsLeftAlone() {
        var sockets = CurlSockets()
        sockets.waits(9, for: .read)
        #expect(sockets.rests(9) == false && sockets.interest(in: 9) == nil)
        #expect(sockets.remove(9) == nil && sockets.takesOver(9) == false && !sockets.hasStalled)
    }
}
