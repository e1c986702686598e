import Testing

@testable import SallyportURLLoading

struct LoadTaskStateMachineTests {
    private var machine = LoadTaskStateMachine(priority: 0.5)

    @Test func aNewTaskIsSuspendedAndItsFirstResumeStartsIt() {
        var machine = machine
        #expect(machine.state == .suspended)
        #expect(machine.resumed().starts)
        #expect(machine.state == .running)
        #expect(!machine.resumed().starts)
    }

    @Test func suspendingNotifiesListenersAndResumingDoesNotStartAgain() {
        var machine = machine
        _ = machine.resumed()
        _ = machine.attached {}
        #expect(machine.suspended().listeners.count == 1)
        #expect(machine.state == .suspended)
        #expect(machine.suspended().listeners.isEmpty)
        let actions = machine.resumed()
        #expect(!actions.starts && actions.listeners.count == 1)
    }

    @Test func aTaskThatNeverBeganCannotBeSuspendedFurther() {
        var machine = machine
        #expect(machine.suspended().listeners.isEmpty && machine.state == .suspended)
        #expect(machine.resumed().starts)
    }

    @Test func waitingIsToldUnlessItIsSuspended() {
        var machine = machine
        _ = machine.resumed()
        machine.waits(true)
        #expect(machine.state == .waiting)
        _ = machine.suspended()
        #expect(machine.state == .suspended)
        _ = machine.resumed()
        #expect(machine.state == .waiting)
        machine.waits(false)
        #expect(machine.state == .running)
    }

    @Test func cancellingBeforeTheStartEndsItAtOnce() {
        var machine = machine
        let actions = machine.cancelled()
        #expect(actions.endsUnstarted && !actions.cancels)
        #expect(machine.state == .completed)
        #expect(!machine.resumed().starts)
    }

    @Test func cancellingCancelsTheLoadOnce() {
        var machine = machine
        _ = machine.resumed()
        #expect(machine.cancelled().cancels)
        #expect(!machine.cancelled().cancels)
        #expect(machine.state == .running)
        _ = machine.ended()
        #expect(machine.state == .completed)
    }

    @Test func nothingHappensAfterTheEnd() {
        var machine = machine
        _ = machine.resumed()
        _ = machine.attached {}
        _ = machine.ended()
        #expect(machine.suspended().listeners.isEmpty && !machine.cancelled().cancels)
        #expect(machine.prioritised(1).listeners.isEmpty)
        #expect(machine.state == .completed)
    }

    @Test func aSuspendedTaskWithoutReferencesIsCancelled() {
        var (new, suspended, running) = (machine, machine, machine)
        #expect(new.abandoned().endsUnstarted)
        _ = suspended.resumed()
        _ = suspended.suspended()
        #expect(suspended.abandoned().cancels)
        _ = running.resumed()
        #expect(!running.abandoned().cancels)
    }

    @Test func askingForTheValueBeginsItOnlyIfItNeverBegan() {
        var machine = machine
        #expect(machine.beganByValue().starts)
        _ = machine.suspended()
        _ = machine.beganByValue()
        #expect(machine.state == .suspended)
    }

    @Test(arguments: [(-1, 0), (2, 1), (Double.nan, 0.5), (.infinity, 1), (0.25, 0.25)])
    func prioritiesAreFromZeroToOne(_ priority: Double, _ expected: Double) {
        #expect(LoadTaskStateMachine(priority: priority).priority == expected)
        var machine = machine
        _ = machine.attached {}
        #expect(machine.prioritised(priority).listeners.count == (expected == 0.5 ? 0 : 1))
        #expect(machine.priority == expected)
    }
}
