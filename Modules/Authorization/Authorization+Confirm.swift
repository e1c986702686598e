internal import SallyportCore

extension Authorization {
    /// Fetches that confirm whether access has changed: the one in progress, and the next one, which all later calls
    /// share.
    struct Confirmations {
        var current: Task<Void, Never>?
        var next: Task<Void, Never>?
    }

    /// The time limit of such a fetch, with all its requests; each has at least a second.
    private static let confirmationTimeout = Duration.seconds(2)

    /// Fetches the configuration, which says whether access has changed; the caller limits how long it waits. A fetch
    /// that began before the call may have missed the change, so the call waits for one that begins after it. If the
    /// gateway refuses or does not answer, access is taken to be unchanged: the loss was then caused by the network.
    public func confirmAccess() async {
        guard identity != nil else { return }
        let question = confirmations.next ?? nextConfirmation()
        await question.value
    }

    /// An unstructured task: the tasks of many broken connections may wait for it, and each may be cancelled. See
    /// Docs/Concurrency.md.
    private func nextConfirmation() -> Task<Void, Never> {
        let earlier = confirmations.current
        let task = Task {
            await earlier?.value
            confirmations.current = confirmations.next
            confirmations.next = nil
            _ = try? await refresh(within: Patience(Self.confirmationTimeout))
            if confirmations.next == nil { confirmations.current = nil }
        }
        confirmations.next = task
        return task
    }
}
