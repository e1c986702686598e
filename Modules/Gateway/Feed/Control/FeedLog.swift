internal import SallyportWire

/// Which records changed with the last revisions, so that a follower of the feed is told of these only. A value.
struct FeedLog: Sendable {
    /// How many entries, and how many instances in them, are remembered. A follower that has fallen further behind gets
    /// a snapshot.
    static let limit = 1000
    static let instanceLimit = 20_000

    struct Entry: Sendable, Hashable {
        let revision: Int64
        var instances: [InstanceIdentifier] = []
        var isDirectory = false
        var isUsers = false
        /// The authorities, or the gateways that are followed.
        var isAuthorities = false
    }

    /// What changed after some revision.
    struct Changes: Sendable, Hashable {
        var instances: Set<InstanceIdentifier> = []
        var isDirectory = false
        var isUsers = false
        var isAuthorities = false
        var isEverything = false

        static let everything = Changes(isDirectory: true, isUsers: true, isAuthorities: true, isEverything: true)
    }

    /// In ascending order.
    private var entries: [Entry] = []
    private var instances = 0
    /// Everything after this revision is in the entries; nil before the first one, which is the whole state.
    private var start: Int64?

    mutating func note(_ entry: Entry) {
        guard start != nil, entry.instances.count <= Self.instanceLimit else {
            self = FeedLog()
            start = entry.revision
            return
        }
        entries.append(entry)
        instances += entry.instances.count
        while entries.count > Self.limit || instances > Self.instanceLimit {
            let dropped = entries.removeFirst()
            instances -= dropped.instances.count
            start = dropped.revision
        }
    }

    /// Nil if the log does not go back that far.
    func changes(after position: Int64) -> Changes? {
        guard let start, start <= position else { return nil }
        var changes = Changes()
        for entry in entries.reversed() {
            guard entry.revision > position else { break }
            changes.instances.formUnion(entry.instances)
            changes.isDirectory = changes.isDirectory || entry.isDirectory
            changes.isUsers = changes.isUsers || entry.isUsers
            changes.isAuthorities = changes.isAuthorities || entry.isAuthorities
        }
        return changes
    }
}
