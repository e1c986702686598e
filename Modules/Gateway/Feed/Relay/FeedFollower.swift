internal import Foundation
internal import HashTreeCollections
internal import SallyportWire

/// The state that a relay has followed.
struct FollowedState: Sendable {
    let revision: Int64
    /// With users.
    let directory: Directory
    let instances: InstanceTable
    let authorities: FeedAuthorities
    let controls: [String]
    /// The policy that these make.
    let policy: RelaySnapshot
}

/// Decides which updates of several gateways come into force at a relay. A value without I/O.
///
/// All gateways number their updates by the revisions of one store, so an update of one continues what another has
/// sent, unless its snapshot was older than what was in force here. Nothing ever goes back: a revision that is lower
/// than one which was in force before is not applied, from whichever sender it comes.
struct FeedFollower: Sendable {
    private(set) var state: FollowedState?
    /// The highest revision that was ever in force here, before a restart too.
    private(set) var newest: Int64
    /// What each sender has sent completely.
    private var positions: [Int: Int64] = [:]
    /// The senders whose snapshot was older than what had been in force here before, or than another one that came at
    /// the same time.
    private var late: Set<Int> = []
    /// The senders whose snapshot began before there was a state with which it could be compared. These snapshots are
    /// compared with each other, in any order of becoming complete. Later snapshots are not compared again at their
    /// end: if changes come faster than a snapshot does, its sender would begin anew for ever.
    private var first: Set<Int> = []
    /// Whether a late sender was asked to begin anew: then the next snapshot is applied if it has the state's revision,
    /// too.
    private var needsSnapshot = false
    private let clock: @Sendable () -> Date

    /// - Parameter newest: as it was stored; 0 for nothing.
    init(newest: Int64, clock: @escaping @Sendable () -> Date) { (self.newest, self.clock) = (newest, clock) }

    /// How many gateways have told all that they have.
    var senderCount: Int { positions.count }

    mutating func ended(_ sender: Int) {
        positions[sender] = nil
        late.remove(sender)
        first.remove(sender)
    }

    /// A sender begins an update.
    ///
    /// - Returns: whether it is of use.
    /// - Throws: `invalid` if the update neither continues what the sender has sent before nor is a later snapshot, and
    ///   if a late sender has caught up by changes: once it is followed anew, it begins with another snapshot.
    mutating func begins(from: Int64?, to revision: Int64, _ sender: Int) throws(GatewayError) -> Bool {
        let position = positions[sender]
        guard from == nil || from == position, revision > position ?? -1 else {
            throw GatewayError(.invalid, "An update of the feed does not continue the one before.")
        }
        if from == nil { beginsWhole(at: revision, sender) }
        // The late sender's changes alone make no state, and nothing shows that they continue another sender's state:
        // its store may have been put back, and have come to the same revisions by other changes.
        guard !late.contains(sender) || revision < newest else {
            needsSnapshot = true
            throw GatewayError(.invalid, "The gateway's snapshot was older than what was in force here before.")
        }
        return isApplicable(from: from, to: revision)
    }

    /// A sender begins its first snapshot, or a later one, because its log does not go back to what it has sent last. A
    /// later one continues nothing that came before it.
    private mutating func beginsWhole(at revision: Int64, _ sender: Int) {
        // It has done what it would have been asked to do.
        if late.contains(sender), revision >= newest { needsSnapshot = true }
        ended(sender)
        if revision < newest { late.insert(sender) }
        if state == nil { first.insert(sender) }
    }

    private func isApplicable(from: Int64?, to revision: Int64) -> Bool {
        guard revision >= newest else { return false }
        guard let state else { return from == nil }
        if from == nil, needsSnapshot { return true }
        return revision > state.revision && from ?? 0 <= state.revision
    }

    /// A sender's update has come to its end, and was not of use.
    mutating func skipped(to revision: Int64, _ sender: Int) { positions[sender] = revision }

    /// A sender's update is complete.
    ///
    /// - Returns: the new state; nil if it is not applied, because another sender was faster.
    /// - Throws: `invalid` if a snapshot lacks something.
    mutating func received(_ update: FeedUpdate, _ sender: Int) throws(GatewayError) -> FollowedState? {
        positions[sender] = update.revision
        if update.from == nil, first.contains(sender) { compareFirst() }
        guard isApplicable(from: update.from, to: update.revision) else { return nil }
        let next = update.from == nil ? try Self.whole(update, clock) : changed(by: update)
        state = next
        newest = update.revision
        if update.from == nil { needsSnapshot = false }
        return next
    }

    /// Compares a snapshot with those that began before there was a state, and are complete.
    private mutating func compareFirst() {
        let revisions = first.compactMap { other in positions[other].map { (sender: other, revision: $0) } }
        let highest = max(state?.revision ?? 0, revisions.map(\.revision).max() ?? 0)
        for other in revisions where other.revision < highest { late.insert(other.sender) }
    }

    private static func whole(
        _ update: FeedUpdate, _ clock: @escaping @Sendable () -> Date
    ) throws(GatewayError) -> FollowedState {
        guard var directory = update.directory, let users = update.users, let authorities = update.authorities else {
            throw GatewayError(.invalid, "A snapshot of the feed lacks a part.")
        }
        directory.users = users
        let instances = table(update.instances, changing: InstanceTable())
        return FollowedState(
            revision: update.revision, directory: directory, instances: instances, authorities: authorities,
            controls: update.controls ?? [],
            policy: RelaySnapshot(directory: directory, instances: instances, clock: clock))
    }

    private func changed(by update: FeedUpdate) -> FollowedState? {
        guard let old = state else { return nil }
        var directory = update.directory ?? old.directory
        directory.users = update.users ?? old.directory.users
        let instances = Self.table(update.instances, changing: old.instances)
        let isPolicyNew = update.directory != nil || update.users != nil
        return FollowedState(
            revision: update.revision, directory: directory, instances: instances,
            authorities: update.authorities ?? old.authorities, controls: update.controls ?? old.controls,
            policy: isPolicyNew
                ? RelaySnapshot(directory: directory, instances: instances, clock: clock) : old.policy.with(instances))
    }

    private static func table(_ instances: FeedUpdate.Instances, changing old: InstanceTable) -> InstanceTable {
        switch instances {
        case .all(let table): return table
        case .some(let records):
            var table = old
            for record in records { table[record.name.instance] = record }
            return table
        }
    }

    /// Whether a beat says that what is in force here is all that there is.
    func confirms(_ beat: FeedBeat, _ sender: Int) -> Bool {
        guard let state, let position = positions[sender], beat.age != nil else { return false }
        return beat.revision == position && position >= state.revision && position >= newest
    }
}
