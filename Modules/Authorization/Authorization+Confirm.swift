internal import SallyportCore

extension Authorization {
    /// Questions whether access stands: one under way, and the next, which everything shares that asks meanwhile.
    struct Confirmations {
        var current: Task<Void, Never>?
        var next: Task<Void, Never>?
    }

    /// The longest time for one request of a question; a fetch may take several.
    private static let confirmationTimeout = Duration.seconds(2)

    /// Fetches the configuration, which says what holds; the caller bounds how long it waits. A fetch that began before the
    /// call may have missed the change that is asked about, so the call waits for one that begins after it. Where the
    /// gateway refuses or does not answer, access stands as it did: the loss is then one of the network.
    public func confirmAccess() async {
        guard identity != nil else { return }
        let question = confirmations.next ?? nextConfirmation()
        await question.value
    }

    /// Without a parent: any number of broken connections wait for it, each of which may be given up. Docs/Concurrency.md.
    private func nextConfirmation() -> Task<Void, Never> {
        let earlier = confirmations.current
        let task = Task {
            await earlier?.value
            confirmations.current = confirmations.next
            confirmations.next = nil
            _ = try? await refresh(timeout: Self.confirmationTimeout)
            if confirmations.next == nil { confirmations.current = nil }
        }
        confirmations.next = task
        return task
    }
}
