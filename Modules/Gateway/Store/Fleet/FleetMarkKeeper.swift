/// Writes into the gateway's own store how far it has followed its fleet's database.
///
/// An actor, since a write goes on after the change is in force, which does not wait for it. Of marks that come faster than
/// they are written, only the newest one is: a gateway that is killed forgets what came in the last tenth of a second, or
/// for as long as its own store cannot be written.
actor FleetMarkKeeper {
    /// The least time from the end of a write to the next one.
    private static let pace: Duration = .milliseconds(100)

    private let own: OwnStore
    private var newest: FleetMark?
    private var kept: FleetMark?
    private var writing: Task<Void, Never>?

    init(_ own: OwnStore) { self.own = own }

    /// Returns at once.
    func keep(_ mark: FleetMark) {
        newest = mark
        guard writing == nil, mark != kept else { return }
        writing = Task {
            while !Task.isCancelled, await writeNewest() { try? await Task.sleep(for: Self.pace) }
            writing = nil
        }
    }

    /// Returns once the newest mark is written, if it can be.
    func end() async {
        writing?.cancel()
        await writing?.value
        _ = await writeNewest()
    }

    /// - Returns: false if there was nothing to write, or if it failed: then the next change tries again.
    private func writeNewest() async -> Bool {
        guard let mark = newest, mark != kept, (try? await own.keep(mark)) != nil else { return false }
        kept = mark
        return true
    }
}
