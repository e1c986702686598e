internal import SallyportBase

/// Something that happens once, and that tasks wait for without a time limit of their own.
package final class Signal: Sendable {
    private let state = Lock<(isFired: Bool, waiters: [CheckedContinuation<Void, Never>])>((false, []))

    package init() {}

    package func fire() {
        let waiters = state.withLock { state in
            defer { state = (true, []) }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    package func wait() async {
        await withCheckedContinuation { continuation in
            let isFired = state.withLock { state in
                if !state.isFired { state.waiters.append(continuation) }
                return state.isFired
            }
            if isFired { continuation.resume() }
        }
    }
}
