internal import SallyportBase

/// The recent ways of the sessions of one connector: one page for each session, with eight ways at most.
///
/// One lock guards all pages, because a change of rules empties the whole book with a synchronous call.
final class WayBook: Sendable {
    /// Most sessions speak to few servers. They are compared one by one, which costs less than a hash.
    private static let limit = 8

    private struct Pages {
        var pages: [[KnownWays.Known]] = []
        /// Pages whose sessions have ended.
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
        // Released here, after the lock.
        withExtendedLifetime(dropped) {}
    }

    func first(on page: Int, where matches: (KnownWays.Known) -> Bool) -> KnownWays.Known? {
        state.withLock { $0.pages[page].first(where: matches) }
    }

    func add(_ new: KnownWays.Known, insteadOf last: KnownWays.Known?, on page: Int) {
        let dropped = state.withLock { state in
            state.pages[page].removeAll { $0 === last }
            let isFull = state.pages[page].count >= Self.limit
            let dropped = isFull ? state.pages[page].removeFirst() : nil
            state.pages[page].append(new)
            return dropped
        }
        // Released here, after the lock: it may have the last reference to a signer, whose end takes others.
        withExtendedLifetime(dropped) {}
    }

    func remove(_ known: KnownWays.Known, from page: Int) {
        state.withLock { $0.pages[page].removeAll { $0 === known } }
    }

    /// Other rules are in force, or none: drops all entries of the old ones, above all the key that relays were shown.
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
