package import SallyportCore

extension PublicKeyPin {
    /// The key and its backups: those of which a server's chain must contain one.
    ///
    /// - Throws: `invalidRequest` if there is no other key among the backups.
    package func with(backups: Set<PublicKeyPin>) throws(LoadError) -> Set<PublicKeyPin> {
        guard !backups.subtracting([self]).isEmpty else {
            throw LoadError(.invalidRequest, "A pin needs a backup, another key.")
        }
        return backups.union([self])
    }
}
