import Foundation
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportSocket

/// The table of Docs/Socket.md, cell by cell: written here by hand, independently of the machine.
@Suite struct SocketStateMachineTests {
    enum Situation: String, CaseIterable, Sendable {
        case prepared, connecting, failed, open, disconnecting, disconnected

        var machine: SocketStateMachine {
            get throws {
                var machine = SocketStateMachine()
                if self == .prepared { return machine }
                try machine.called(.connect)
                if self == .connecting { return machine }
                _ = machine.happened(self == .failed ? .failedToConnect : .opened, in: 1)
                if self == .disconnecting || self == .disconnected { try machine.called(.disconnect) }
                if self == .disconnected { _ = machine.happened(.closed, in: 1) }
                return machine
            }
        }

        var state: SocketState { SocketState(rawValue: rawValue) ?? .connecting }
    }

    private static let allowed: [Situation: [SocketCall: SocketState]] = [
        .prepared: [.connect: .connecting, .disableHostVerification: .prepared, .disablePeerVerification: .prepared],
        .connecting: [:],
        .failed: [.retrying: .connecting],
        .open: [.disconnect: .disconnecting, .write: .open],
        .disconnecting: [:],
        .disconnected: [.connect: .connecting],
    ]

    @Test(arguments: Situation.allCases, SocketCall.allCases)
    func aCallIsAllowedOrThrowsAndChangesNothing(_ situation: Situation, _ call: SocketCall) throws {
        var machine = try situation.machine
        #expect(machine.state == situation.state)
        let before = machine
        guard let state = Self.allowed[situation]?[call] else {
            let error = #expect(throws: SocketError.self) { try machine.called(call) }
            let isFinished = situation == .failed
            #expect(error?.code == (isFinished ? .finished : .wrongState) && error?.number == nil)
            #expect(machine == before)
            return
        }
        try machine.called(call)
        #expect(machine.state == state)
    }

    private static let told: [Situation: [SocketEvent: (SocketCallback, SocketState)]] = [
        .prepared: [:],
        .connecting: [.opened: (.onOpen, .open), .failedToConnect: (.onErr, .connecting)],
        .failed: [:],
        .open: [.received: (.onRead, .open), .failed: (.onErr, .open), .closed: (.onClose, .disconnected)],
        .disconnecting: [
            .received: (.onRead, .disconnecting), .failed: (.onErr, .disconnecting),
            .closed: (.onClose, .disconnected),
        ],
        .disconnected: [:],
    ]

    @Test(arguments: Situation.allCases, SocketEvent.allCases)
    func anEventTellsOneCallbackOrNone(_ situation: Situation, _ event: SocketEvent) throws {
        var machine = try situation.machine
        let before = machine
        let callback = machine.happened(event, in: machine.attempt)
        guard let (expected, state) = Self.told[situation]?[event] else {
            #expect(callback == nil && machine == before)
            return
        }
        #expect(callback == expected && machine.state == state)
    }

    @Test(arguments: SocketEvent.allCases)
    func eventsOfAnEarlierConnectionAreIgnored(_ event: SocketEvent) throws {
        var machine = try Situation.disconnected.machine
        try machine.called(.connect)
        let before = machine
        #expect(machine.happened(event, in: 1) == nil && machine == before)
    }

    @Test func withoutThePeersCheckThereIsNoneOfTheHost() throws {
        var machine = SocketStateMachine()
        try machine.called(.disableHostVerification)
        #expect(machine.disabled == [.host])
        machine = SocketStateMachine()
        try machine.called(.disablePeerVerification)
        #expect(machine.disabled == [.host, .peer])
        #expect(SocketStateMachine(disabled: [.peer]).disabled == [.host, .peer])
    }

    @Test func theDocumentHasTheTableOfTheMachineThatRuns() throws {
        let file = Programs.repository.appending(path: "Docs/Socket.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(text.contains(SocketStateTable.markdown), "Docs/Socket.md lacks:\n\(SocketStateTable.markdown)")
    }
}
