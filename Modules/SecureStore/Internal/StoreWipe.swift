/// The wipe of a store's directory, after which nothing in it is readable: a value that knows how far it has come.
///
/// The order is: the intent is written and synced; the keys are overwritten, synced and removed; the data is removed;
/// the intent becomes the note that the store was wiped. The first two do not wait for closures of the app that use the
/// store: the process may be killed meanwhile.
///
/// Each step is tried, whatever becomes of the others. If one fails, the intent stays, and another wipe or the next
/// opening tries again. An intent for which there was no room is written once the keys or the data have made some.
struct StoreWipe {
    private let path: String
    private var isIntended = false
    private var isSecretDestroyed = false
    /// The errors that no later attempt can make good: see ``FileNotOverwritten``.
    private var losses = Attempts()

    init(of path: String) { self.path = path }

    private var intent: String { "\(path)/\(StoreDirectory.intentName)" }

    /// What a restore or a compaction may have left, with keys in it.
    private var results: [String] {
        [StoreDirectory.stagingName, StoreDirectory.restoringName].map { "\(path)/\($0)" }
    }

    /// What can be done while the store is in use. What fails is tried again by the steps that follow.
    ///
    /// - Parameter destroyingKeys: false while the file of the keys is being replaced.
    mutating func begin(destroyingKeys: Bool) {
        try? intend()
        if destroyingKeys { try? destroyKeys() }
    }

    /// What can be done as soon as no key is made any more, while the store is still read.
    ///
    /// - Parameter isLastAttempt: whether keys are removed though they could be overwritten later.
    /// - Throws: the first error; then ``finish(protectedBy:)`` tries again.
    mutating func destroySecrets(
        protectedBy protector: any KeyProtector, isLastAttempt: Bool = false
    ) throws(StoreError) {
        var steps = Attempts()
        try? intend()
        steps.attempt { () throws(StoreError) in try destroyKeys(isLastAttempt: isLastAttempt) }
        steps.attempt { () throws(StoreError) in try destroySecret(of: protector) }
        try steps.finish()
    }

    /// Does all that is not done yet, once the store is not used any more.
    ///
    /// - Throws: the first error, also one of an earlier step if that cannot be made good.
    mutating func finish(protectedBy protector: any KeyProtector) throws(StoreError) {
        var steps = losses
        steps.attempt { () throws(StoreError) in try destroySecrets(protectedBy: protector, isLastAttempt: true) }
        for result in results { steps.attempt { () throws(StoreError) in try StoreDirectory.discard(result) } }
        steps.attempt { () throws(StoreError) in try removeData() }
        steps.attempt { () throws(StoreError) in try intend() }
        try steps.finish()
        try Files.rename(intent, to: "\(path)/\(StoreDirectory.wipedName)")
    }

    /// Writes the intent, by which the next opening finishes the wipe.
    private mutating func intend() throws(StoreError) {
        guard !isIntended else { return }
        try Files.write([], to: intent, mode: 0o600, mustBeNew: false)
        try Files.syncDirectory(of: intent)
        isIntended = true
    }

    private mutating func destroyKeys(isLastAttempt: Bool = false) throws(StoreError) {
        var steps = Attempts()
        let name = KeyRingFile.name
        for file in ["\(path)/\(name)", "\(path)/\(name).new"] + results.map({ "\($0)/\(name)" }) {
            steps.attempt { () throws(StoreError) in
                try notingLoss { () throws(StoreError) in try Files.destroy(file, isLastAttempt: isLastAttempt) }
            }
        }
        try steps.finish()
    }

    private mutating func notingLoss(_ step: () throws(StoreError) -> Void) throws(StoreError) {
        do throws(StoreError) { try step() } catch {
            if error.underlying is FileNotOverwritten { losses.attempt { () throws(StoreError) in throw error } }
            throw error
        }
    }

    /// Once for each attempt to wipe the store.
    private mutating func destroySecret(of protector: any KeyProtector) throws(StoreError) {
        guard !isSecretDestroyed else { return }
        let directory = path
        try notingLoss { () throws(StoreError) in try protector.destroySecret(inDirectory: directory) }
        isSecretDestroyed = true
    }

    private func removeData() throws(StoreError) {
        try DirectoryLock.whileReplacing(path) { () throws(StoreError) in
            var steps = Attempts()
            for name in StoreDirectory.dataNames {
                steps.attempt { () throws(StoreError) in try Files.remove("\(path)/\(name)") }
            }
            try steps.finish()
        }
    }
}
