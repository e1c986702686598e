import SallyportCore
import Testing

@testable import SallyportReachability

/// When the loss and the return of the infrastructure are told: within the times of the contract, whatever the phase of
/// the heartbeats.
@Suite(.timeLimit(.minutes(1))) struct LinkWatchTests {
    /// Within the 2 s of the heartbeats.
    private static let phases = stride(from: 0, to: 2000, by: 50).map { Duration.milliseconds($0) }
    private static let cut = Duration.seconds(20)

    enum Cause: CaseIterable { case path, link, gateway }

    private func event(_ cause: Cause, isUp: Bool) -> SimulatedLink.Event {
        switch cause {
        case .path: .path(isUp: isUp)
        case .link: .link(isUp: isUp)
        case .gateway: .gateway(isUp: isUp)
        }
    }

    private func link(_ cause: Cause, cutFor length: Duration?, phase: Duration) -> SimulatedLink {
        var link = SimulatedLink(phase: phase)
        link.add(event(cause, isUp: false), at: Self.cut)
        if let length { link.add(event(cause, isUp: true), at: Self.cut + length) }
        link.run(until: .seconds(90))
        return link
    }

    @Test func itBeginsUnknownAndIsReachableWithTheFirstWord() {
        var link = SimulatedLink()
        #expect(link.watch.told == LinkWatch.Report())
        link.run(until: .seconds(60))
        #expect(link.told.count == 2 && link.told.last?.report.standing == .reachable(.wired))
        #expect(link.told.last?.report.isNetworkAvailable == true && link.told.last?.report.isPushAvailable == true)
        #expect(link.told.allSatisfy { $0.at <= .milliseconds(100) })
    }

    /// With an open stream no probe is sent.
    @Test func heartbeatsAreEnough() {
        var link = SimulatedLink()
        link.run(until: .seconds(600))
        #expect(link.probes == 0)
    }

    @Test(arguments: Cause.allCases) func aLossIsNoticedWithinFiveSeconds(_ cause: Cause) throws {
        for phase in Self.phases {
            let link = link(cause, cutFor: nil, phase: phase)
            let loss = try #require(link.told.first { $0.at >= Self.cut && !$0.isReachable })
            #expect(loss.report.standing == .unreachable && !loss.report.isPushAvailable)
            #expect(loss.at - Self.cut <= .seconds(5) && loss.at - Self.cut >= .seconds(2), "\(phase): \(loss)")
            #expect(link.told.filter { $0.at >= loss.at }.allSatisfy { !$0.isReachable })
        }
    }

    @Test(arguments: Cause.allCases, [50, 400, 900, 1500, 1800, 1990])
    func interruptionsOfLessThanTwoSecondsAreNotReported(_ cause: Cause, _ length: Int) {
        for phase in Self.phases {
            let link = link(cause, cutFor: .milliseconds(length), phase: phase)
            #expect(link.told.count { $0.at >= Self.cut } == 0, "\(phase): \(link.told)")
            #expect(link.watch.told.isPushAvailable)
        }
    }

    @Test(arguments: [3500, 6000, 11_000, 20_350]) func aReturnOfTheLinkIsNoticedWithinASecond(_ length: Int) throws {
        for phase in Self.phases {
            let link = link(.link, cutFor: .milliseconds(length), phase: phase)
            let end = Self.cut + .milliseconds(length)
            #expect(link.told.last { $0.at < end }?.isReachable == false)
            let back = try #require(link.told.first { $0.at >= end && $0.isReachable })
            #expect(back.at - end <= .seconds(1), "\(phase): \(back)")
            #expect(link.watch.told.isPushAvailable && link.watch.told.isNetworkAvailable)
        }
    }

    @Test(arguments: [Cause.path, .gateway], Array(stride(from: 6000, to: 14_000, by: 400)))
    func aReturnOfWhatLiesBehindIsNoticedWithinFiveSeconds(_ cause: Cause, _ length: Int) throws {
        for phase in Self.phases {
            let link = link(cause, cutFor: .milliseconds(length), phase: phase)
            let end = Self.cut + .milliseconds(length)
            #expect(link.told.last { $0.at < end }?.isReachable == false)
            let back = try #require(link.told.first { $0.at >= end && $0.isReachable })
            #expect(back.at - end <= .seconds(5), "\(phase): \(back)")
            #expect(link.watch.told.isPushAvailable)
        }
    }

    @Test func aLinkThatIsPulledLeavesNoNetwork() {
        let link = link(.link, cutFor: nil, phase: .zero)
        #expect(!link.watch.told.isNetworkAvailable)
        #expect(self.link(.path, cutFor: nil, phase: .zero).watch.told.isNetworkAvailable)
    }

    /// Losses and returns come in turn, and probes do not pile up.
    @Test func aLinkThatFlapsIsToldInTurn() {
        var link = SimulatedLink()
        for number in 0..<20 {
            link.add(.link(isUp: false), at: .seconds(20 + 12 * number))
            link.add(.link(isUp: true), at: .seconds(26 + 12 * number))
        }
        link.run(until: .seconds(300))
        let states = link.told.dropFirst().map(\.isReachable)
        let turns = zip(states, states.dropFirst()).count { $0 != $1 }
        #expect(turns == 40, "\(link.told.count)")
        #expect(link.probes < 20 * 20)
    }

    @Test func whileOutOfReachProbesAreFew() {
        let link = link(.path, cutFor: nil, phase: .zero)
        // Some six while there was a doubt, then one each 3.4 s for 65 s.
        #expect((15...30).contains(link.probes), "\(link.probes)")
    }

    /// Another process has the stream for a minute: probes stand in for heartbeats.
    @Test func aDisplacedStreamLeavesTheGatewayWithinReach() {
        var link = SimulatedLink()
        link.add(.displaced, at: .seconds(20))
        link.add(.path(isUp: false), at: .seconds(50))
        link.run(until: .seconds(49))
        #expect(link.watch.told.standing == .reachable(.wired) && !link.watch.told.isPushAvailable)
        #expect((12...17).contains(link.probes))
        link.run(until: .seconds(55))
        #expect(link.watch.told.standing == .unreachable)
    }

    @Test func anotherWayIsAnotherKind() throws {
        var watch = LinkWatch(at: .zero)
        let network = TestNetwork()
        network.link(2, "eth0").address(2, "10.0.0.1").route("0.0.0.0", 0, by: 2)
        network.link(3, "wg0", hardware: 0xfffe, kind: "wireguard").address(3, "10.9.0.1")
        _ = watch.networkChanged(network.state, at: .zero)
        _ = watch.streamOpened(SimulatedLink.ends, at: .milliseconds(100))
        #expect(watch.told.standing == .reachable(.wired))
        network.route("198.51.100.0", 24, by: 3)
        let actions = watch.networkChanged(network.state, at: .seconds(1))
        #expect(actions == [.probe(1)])
        let local = try #require(IPAddress("10.9.0.1"))
        let ends = LinkWatch.Ends(local: local, remote: SimulatedLink.ends.remote)
        let told = watch.probeAnswered(1, ends, at: .milliseconds(1100))
        #expect(told.first == .call(drops: true) && watch.told.standing == .reachable(.tunnel))
        #expect(watch.told.isPushAvailable)
    }

    /// A word that was under way when the link went proves nothing.
    @Test func oldWordsEndNoDoubt() {
        var watch = LinkWatch(at: .zero)
        _ = watch.networkChanged(SimulatedLink.network(isUp: true), at: .zero)
        _ = watch.streamOpened(SimulatedLink.ends, at: .zero)
        _ = watch.networkChanged(SimulatedLink.network(isUp: false), at: .seconds(1))
        _ = watch.streamSpoke(at: .milliseconds(1100))
        _ = watch.timeCame(at: .seconds(4))
        #expect(watch.told.standing == .unreachable)
    }

    /// Nor does an answer to a probe that was sent before the route to the gateway changed.
    @Test func answersFromBeforeADoubtDoNotEndIt() throws {
        var watch = LinkWatch(at: .zero)
        let network = TestNetwork()
        network.link(2, "eth0").address(2, "10.0.0.1").route("0.0.0.0", 0, by: 2)
        network.link(3, "wg0", hardware: 0xfffe, kind: "wireguard").address(3, "10.9.0.1")
        _ = watch.networkChanged(network.state, at: .zero)
        _ = watch.streamOpened(SimulatedLink.ends, at: .zero)
        // Another has the stream: a probe stands in for it.
        #expect(watch.streamDisplaced(at: .seconds(1)).contains(.probe(1)))
        network.route("198.51.100.0", 24, by: 3)
        _ = watch.networkChanged(network.state, at: .seconds(2))
        // Within the time limit of a probe, which is 2 s.
        _ = watch.probeAnswered(1, SimulatedLink.ends, at: .milliseconds(2010))
        _ = watch.timeCame(at: .seconds(5))
        #expect(watch.told.standing == .unreachable)
    }

    @Test func answersToUnknownProbesAreIgnored() {
        var watch = LinkWatch(at: .zero)
        #expect(watch.probeAnswered(7, SimulatedLink.ends, at: .milliseconds(10)).isEmpty)
        #expect(watch.probeFailed(7, at: .milliseconds(20)).isEmpty)
        #expect(watch.told.standing == .unknown)
    }

    /// Without reports of the kernel, heartbeats and probes are sufficient.
    @Test func withoutTheKernelsWordTheTimesStand() {
        var watch = LinkWatch(at: .zero)
        _ = watch.streamOpened(SimulatedLink.ends, at: .zero)
        #expect(watch.told.standing == .reachable(nil) && watch.told.isNetworkAvailable)
        var now = Duration.zero
        while let next = watch.nextInstant, watch.told.standing != .unreachable, now < .seconds(10) {
            now = next
            _ = watch.timeCame(at: now)
        }
        #expect(watch.told.standing == .unreachable && now <= .seconds(5))
    }
}
