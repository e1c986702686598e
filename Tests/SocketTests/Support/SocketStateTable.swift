import SallyportLoading

@testable import SallyportSocket

/// The table in `Docs/Socket.md`, generated from the state machine itself.
enum SocketStateTable {
    /// Every situation that the machine can be in, with its name.
    static let situations: [(name: String, machine: SocketStateMachine)] = {
        let prepared = SocketStateMachine()
        let connecting = after(prepared, .connect)
        let open = after(connecting, .opened)
        return [
            ("Prepared", prepared), ("Connecting", connecting),
            ("Connecting, failed", after(connecting, .failedToConnect)), ("Open", open),
            ("Disconnecting", after(open, .disconnect)), ("Disconnected", after(open, .closed)),
        ]
    }()

    private static func after(_ machine: SocketStateMachine, _ call: SocketCall) -> SocketStateMachine {
        var machine = machine
        try? machine.called(call)
        return machine
    }

    private static func after(_ machine: SocketStateMachine, _ event: SocketEvent) -> SocketStateMachine {
        var machine = machine
        _ = machine.happened(event, in: machine.attempt)
        return machine
    }

    /// The rows of the calls, then those of the events.
    static var markdown: String {
        [table("Call", SocketCall.allCases.map(row)), table("Event", SocketEvent.allCases.map(row))]
            .joined(separator: "\n")
    }

    private static func table(_ what: String, _ rows: [String]) -> String {
        let names = situations.map(\.name)
        let head = "| \(what) | " + names.joined(separator: " | ") + " |\n"
        return head + "|---|" + names.map { _ in "---|" }.joined() + "\n" + rows.joined()
    }

    private static func row(_ call: SocketCall) -> String {
        let cells = situations.map { situation in
            var machine = situation.machine
            do throws(SocketError) {
                try machine.called(call)
                return change(from: situation.machine, to: machine) ?? "allowed"
            } catch {
                return "throws `\(error.code)`"
            }
        }
        return "| `\(call)` | " + cells.joined(separator: " | ") + " |\n"
    }

    private static func row(_ event: SocketEvent) -> String {
        let cells = situations.map { situation in
            var machine = situation.machine
            guard let callback = machine.happened(event, in: machine.attempt) else { return "–" }
            let change = change(from: situation.machine, to: machine)
            return "`\(callback)`" + (change.map { ", \($0)" } ?? "")
        }
        return "| \(event) | " + cells.joined(separator: " | ") + " |\n"
    }

    private static func change(from one: SocketStateMachine, to other: SocketStateMachine) -> String? {
        if other.state != one.state { return "→ \(other.state)" }
        if other.disabled != one.disabled {
            return "without the check of " + (other.disabled.contains(.peer) ? "peer and host" : "the host")
        }
        return other.hasFailed == one.hasFailed ? nil : "stays, failed"
    }
}
