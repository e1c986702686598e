import Testing

@testable import SallyportReachability

/// What is asked of the kernel, and when its answers are told.
@Suite struct NetlinkConversationTests {
    private typealias Bytes = NetlinkBytes
    private static let port: UInt32 = 4711

    private func conversation() -> NetlinkConversation {
        NetlinkConversation(port: Self.port) { InterfaceFacts(hardware: $0.hardware, made: $0.kind) }
    }

    private func answer(_ type: UInt16, _ sequence: UInt32, _ body: [UInt8], flags: UInt16 = 2) -> [UInt8] {
        Bytes.message(type, flags: flags, sequence: sequence, port: Self.port, body)
    }

    private func end(_ sequence: UInt32) -> [UInt8] { answer(3, sequence, [0, 0, 0, 0]) }

    /// Answers all three questions from `first` on; gives what is done at the end.
    private func answerAll(
        _ talk: inout NetlinkConversation, from first: UInt32, flags: UInt16 = 2
    ) -> [NetlinkConversation.Action] {
        _ = talk.received(answer(16, first, Bytes.link(2, "eth0")) + end(first), from: 0)
        _ = talk.received(answer(20, first + 1, Bytes.address(2, [10, 0, 0, 1])) + end(first + 1), from: 0)
        return talk.received(
            answer(24, first + 2, Bytes.route(to: nil, 0, by: 2), flags: flags) + end(first + 2), from: 0)
    }

    @Test func linksAddressesAndRoutesAreAskedForInTurn() {
        var talk = conversation()
        #expect(talk.begin() == [.ask(.links, sequence: 1)])
        #expect(talk.begin().isEmpty)
        #expect(talk.received(answer(16, 1, Bytes.link(2, "eth0")), from: 0).isEmpty)
        #expect(talk.received(end(1), from: 0) == [.ask(.addresses, sequence: 2)])
        #expect(talk.received(end(2), from: 0) == [.ask(.routes, sequence: 3)])
        let told = talk.received(end(3), from: 0)
        guard case .tell(let state)? = told.first, told.count == 1 else {
            Issue.record("\(told)")
            return
        }
        #expect(state.interfaces[2]?.name == "eth0")
    }

    @Test func aChangeMakesItAskAgainOnce() {
        var talk = conversation()
        _ = talk.begin()
        #expect(answerAll(&talk, from: 1).count == 1)
        let change = Bytes.message(16, Bytes.link(2, "eth0", isRunning: false))
        #expect(talk.received(change + change, from: 0) == [.askSoon])
        #expect(talk.received(Bytes.message(25, []), from: 0).isEmpty)
        #expect(talk.begin() == [.ask(.links, sequence: 4)])
    }

    @Test(arguments: [false, true]) func aChangeMeanwhileMakesItAskAgainAtTheEnd(isInterrupted: Bool) {
        var talk = conversation()
        _ = talk.begin()
        if !isInterrupted { #expect(talk.received(Bytes.message(21, []), from: 0).isEmpty) }
        let actions = answerAll(&talk, from: 1, flags: isInterrupted ? 0x12 : 2)
        #expect(actions.count == 2 && actions.last == .askSoon)
        #expect(talk.begin() == [.ask(.links, sequence: 4)])
    }

    @Test func lostMessagesCauseANewRequest() {
        var talk = conversation()
        _ = talk.begin()
        #expect(talk.received(Bytes.message(21, []), from: 0).isEmpty)
        #expect(talk.lost() == [.askSoon])
        #expect(talk.lost().isEmpty)
        #expect(talk.begin() == [.ask(.links, sequence: 2)])
        #expect(talk.received([1, 2, 3], from: 0) == [.askSoon])
        _ = talk.begin()
        #expect(talk.received(answer(2, 3, Bytes.host(Int32(-16))), from: 0) == [.askSoon])
        _ = talk.begin()
        #expect(talk.received(Bytes.message(4, []), from: 0) == [.askSoon])
    }

    /// Otherwise it would stay in progress for ever, and no change would be asked for any more.
    @Test func aRequestOfWhichNothingComesIsMadeAgain() {
        var talk = conversation()
        _ = talk.begin()
        #expect(talk.answerIsDue() == [.askSoon])
        #expect(!talk.isAsking)
        #expect(talk.answerIsDue().isEmpty)
        #expect(talk.begin() == [.ask(.links, sequence: 2)])
        // Another one's answer, and that to the request before, are no part of this one's.
        _ = talk.received(answer(16, 1, Bytes.link(2, "eth0")), from: 0)
        _ = talk.received(Bytes.message(16, sequence: 2, port: 99, Bytes.link(2, "eth0")), from: 0)
        #expect(talk.answerIsDue() == [.askSoon])
    }

    @Test func aLongAnswerIsWaitedForAsLongAsPartsOfItCome() {
        var talk = conversation()
        _ = talk.begin()
        for index in 1...3 as ClosedRange<UInt32> {
            _ = talk.received(answer(16, 1, Bytes.link(index, "eth\(index)")), from: 0)
            #expect(talk.answerIsDue().isEmpty)
            #expect(talk.isAsking)
        }
        #expect(talk.received(end(1), from: 0) == [.ask(.addresses, sequence: 2)])
        // A part of the answer before says nothing of this one.
        #expect(talk.answerIsDue() == [.askSoon])
    }

    /// Any process of the machine may send to the socket.
    @Test func onlyTheKernelIsBelieved() {
        var talk = conversation()
        _ = talk.begin()
        #expect(talk.received(end(1), from: 12).isEmpty)
        #expect(talk.received(Bytes.message(17, []), from: 12).isEmpty)
        #expect(talk.received(end(1), from: 0) == [.ask(.addresses, sequence: 2)])
    }

    @Test func answersToOthersAreChangesAtMost() {
        var talk = conversation()
        _ = talk.begin()
        let foreign = Bytes.message(16, sequence: 1, port: 99, Bytes.link(9, "other"))
        #expect(talk.received(foreign + Bytes.message(3, sequence: 1, port: 99, [0, 0, 0, 0]), from: 0).isEmpty)
        let actions = answerAll(&talk, from: 1)
        guard case .tell(let state)? = actions.first else {
            Issue.record("\(actions)")
            return
        }
        #expect(state.interfaces[9] == nil && actions.last == .askSoon)
    }
}
