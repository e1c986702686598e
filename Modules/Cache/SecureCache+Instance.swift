public import SallyportCore

extension SecureCache: InstancePart, CredentialFollower {
    /// The memory contains nothing of an entry's content; a wipe removes all entries.
    public func withdrawn(_ change: AccessChange) {
        if change.destroysData { forget() }
    }

    /// Removes the answers that the servers gave to these principals.
    ///
    /// - Throws: `StoreError`.
    public func credentialsCleared(for method: AuthenticationMethod?, at places: [CredentialPlace]) async throws {
        try await removeEntries(of: places.map { ($0.principal, $0.origin) })
    }

    /// Ends background revalidations, and writes what is pending.
    public func shutdown() async { await close() }
}
