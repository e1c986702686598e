internal import SallyportBase

/// The ways that the sessions of one connector took last: a page for each session, eight ways at most on each.
///
/// One lock for all of them, since other rules empty the whole book by a plain call.
final class WayBook: Sendable {
    /// Most sessions speak to few servers. They are compared one by one, which costs less than a hash.
    private static let limit = 8

    private struct Pages {
        var pages: [[KnownWays.Known]] = []
        /// Those whose sessions are gone.
        var free: [Int] = []
    }

    private let state = Lock(Pages())

    func addPage() -> Int {
        state.withLock { state in
            if let page = state.free.popLast() { return page }
            state.pages.append([])
            return state.pages.count - 1
        }
    }

    func removePage(_ page: Int) {
        let dropped = state.withLock { state in
            let all = state.pages[page]
            state.pages[page] = []
            state.free.append(page)
            return all
        }
        // Freed here, with the lock open.
        withExtendedLifetime(dropped) {}
    }

    func first(on page: Int, where matches: (KnownWays.Known) -> Bool) -> KnownWays.Known? {
        state.withLock { $0.pages[page].first(where: matches) }
    }

    func add(_ new: KnownWays.Known, insteadOf last: KnownWays.Known?, on page: Int) {
        state.withLock { state in
            state.pages[page].removeAll { $0 === last }
            if state.pages[page].count >= Self.limit { state.pages[page].removeFirst() }
            state.pages[page].append(new)
        }
    }

    func remove(_ known: KnownWays.Known, from page: Int) {
        state.withLock { $0.pages[page].removeAll { $0 === known } }
    }

    /// Other rules are in force, or none: nothing of the old ones is kept, least of all the key that relays were shown.
    func forget() {
        let dropped = state.withLock { state in
            let all = state.pages
            for page in all.indices { state.pages[page] = [] }
            return all
        }
        withExtendedLifetime(dropped) {}
    }

    func count(on page: Int) -> Int { state.withLock { $0.pages[page].count } }
}
