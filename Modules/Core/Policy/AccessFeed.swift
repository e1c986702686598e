internal import SallyportBase

/// The current access of an instance under policies of one type, and the observers of its changes.
///
/// Each observer is called for every change, in the order of the changes and beginning with the current access, as long
/// as its registration exists. It runs on the thread that made the change, or on a thread that is still delivering an
/// earlier change to it. Lock: a leaf; no observer is called while it is held.
///
/// Observers that are actors, or call actors, are asynchronous: ``settle()`` calls and awaits them. The publisher
/// awaits ``settle()`` before it reports the change to anything else.
package final class AccessFeed<Policy: Sendable>: Sendable {
    package typealias Observer = @Sendable (AccessChange) -> Void
    package typealias AwaitedObserver = @Sendable (AccessChange) async -> Void

    /// The access in force.
    package enum Present: Sendable {
        case notAuthorized
        case open(Policy, revision: UInt64)
        case withdrawn(ResultCode)

        var access: Access {
            switch self {
            case .notAuthorized: .notAuthorized
            case .open(_, let revision): .open(revision: revision)
            case .withdrawn(let code): .withdrawn(code)
            }
        }
    }

    /// What was published at one moment: one object, which all readers share until the next one is published.
    package final class Publication: Sendable {
        package let present: Present
        package let edition: PolicyEdition

        fileprivate init(_ present: Present, number: UInt64, lease: (any PolicyLease)? = nil) {
            self.present = present
            edition = PolicyEdition(number: number, lease: lease)
        }
    }

    private struct Registration {
        let observer: Observer
        var pending: [AccessChange] = []
        var isDelivering = false
    }

    private struct AwaitedRegistration {
        let observer: AwaitedObserver
        var pending: [AccessChange] = []
    }

    private struct State {
        var publication = Publication(.notAuthorized, number: 0)
        var revision: UInt64 = 0
        var nextNumber = 0
        var registrations: [Int: Registration] = [:]
        var awaited: [Int: AwaitedRegistration] = [:]
        /// The task that calls the asynchronous observers, one change after another. Its number shows whether it is
        /// still the last one.
        var settling: (task: Task<Void, Never>, number: Int)?
    }

    private let state = Lock(State())

    package init() {}

    /// The access in force, and its edition for ``withdraw(_:unlessNewerThan:)``.
    package var present: (value: Present, edition: UInt64) {
        let publication = publication
        return (publication.present, publication.edition.number)
    }

    /// The current publication: one lock and one reference.
    package var publication: Publication { state.withLock { $0.publication } }

    // MARK: Publishing

    /// Puts a policy in force. Observers are called only if its rules differ from those of the policy before.
    ///
    /// - Parameter lease: until when the policy is valid. Its end is not published: a reader that finds the lease over
    ///   calls ``withdraw(_:unlessNewerThan:)``.
    package func open(_ policy: Policy, lease: (any PolicyLease)? = nil, hasSameRules: (Policy) -> Bool) {
        publish(lease) { state in
            if case .open(let old, let revision) = state.publication.present, hasSameRules(old) {
                return .open(policy, revision: revision)
            }
            state.revision += 1
            return .open(policy, revision: state.revision)
        }
    }

    /// Withdraws access, unless something was published after the edition that led to this.
    package func withdraw(_ code: ResultCode, unlessNewerThan edition: UInt64? = nil) {
        publish { state in
            if let edition, state.publication.edition.number != edition { return nil }
            return .withdrawn(code)
        }
    }

    private func publish(_ lease: (any PolicyLease)? = nil, _ decide: (inout State) -> Present?) {
        let numbers: [Int] = state.withLock { state in
            guard let new = decide(&state) else { return [] }
            let old = state.publication
            let change = AccessChange(from: old.present.access, to: new.access)
            state.publication = Publication(new, number: old.edition.number + 1, lease: lease)
            old.edition.replace()
            guard change.from != change.to else { return [] }
            for number in state.registrations.keys { state.registrations[number]?.pending.append(change) }
            for number in state.awaited.keys { state.awaited[number]?.pending.append(change) }
            return state.registrations.keys.sorted()
        }
        for number in numbers { deliver(number) }
    }

    // MARK: Observing

    /// Registers an observer. Observers are called in the order of their registration.
    package func observe(_ observer: @escaping Observer) -> AccessObservation {
        let number = state.withLock { state in
            var registration = Registration(observer: observer)
            let first = AccessChange(from: .notAuthorized, to: state.publication.present.access)
            if first.from != first.to { registration.pending.append(first) }
            state.nextNumber += 1
            state.registrations[state.nextNumber] = registration
            return state.nextNumber
        }
        deliver(number)
        return AccessObservation { [weak self] in
            _ = self?.state.withLock { $0.registrations.removeValue(forKey: number) }
        }
    }

    package var observerCount: Int { state.withLock { $0.registrations.count } }

    /// Calls an observer with the changes that are pending for it. If another thread is already doing that, that thread
    /// delivers the new changes too.
    private func deliver(_ number: Int) {
        while let (observer, change) = next(for: number) {
            observer(change)
            state.withLock { $0.registrations[number]?.isDelivering = false }
        }
    }

    private func next(for number: Int) -> (Observer, AccessChange)? {
        state.withLock { state in
            guard let registration = state.registrations[number], !registration.isDelivering,
                let change = registration.pending.first
            else { return nil }
            state.registrations[number]?.pending.removeFirst()
            state.registrations[number]?.isDelivering = true
            return (registration.observer, change)
        }
    }

    // MARK: Asynchronous observers

    /// Registers an asynchronous observer. ``settle()`` calls it for each change from here on, in order; it is not
    /// called for the current access.
    package func observe(awaiting observer: @escaping AwaitedObserver) -> AccessObservation {
        let number = state.withLock { state in
            state.nextNumber += 1
            state.awaited[state.nextNumber] = AwaitedRegistration(observer: observer)
            return state.nextNumber
        }
        return AccessObservation { [weak self] in
            _ = self?.state.withLock { $0.awaited.removeValue(forKey: number) }
        }
    }

    /// Returns once the asynchronous observers have returned for all changes published before the call.
    ///
    /// The observers run in a separate task, so that they finish even if the caller is cancelled. See
    /// Docs/Concurrency.md.
    package func settle() async { await settling()?.value }

    private func settling() -> Task<Void, Never>? {
        state.withLock { state in
            guard state.settling != nil || state.awaited.values.contains(where: { !$0.pending.isEmpty }) else {
                return nil
            }
            let earlier = state.settling?.task
            state.nextNumber += 1
            let number = state.nextNumber
            let task = Task {
                await earlier?.value
                while let (observer, change) = self.nextAwaited() { await observer(change) }
                self.state.withLock { if $0.settling?.number == number { $0.settling = nil } }
            }
            state.settling = (task, number)
            return task
        }
    }

    private func nextAwaited() -> (AwaitedObserver, AccessChange)? {
        state.withLock { state in
            guard let number = state.awaited.filter({ !$0.value.pending.isEmpty }).keys.min(),
                let change = state.awaited[number]?.pending.removeFirst(),
                let observer = state.awaited[number]?.observer
            else { return nil }
            return (observer, change)
        }
    }
}
