public import SallyportCore

extension SecureCache: InstancePart, CredentialFollower {
    /// Nothing of an entry is in memory; a wipe takes all of them.
    public func withdrawn(_ change: AccessChange) {
        if change.destroysData { forget() }
    }

    /// Removes the answers that the servers gave to these principals.
    public func credentialsCleared(for method: AuthenticationMethod?, at places: [CredentialPlace]) async {
        removeEntries(of: places.map { ($0.principal, $0.origin) })
    }

    /// Ends what goes on behind answers, and writes what waits to be written.
    public func shutdown() async { await close() }
}
