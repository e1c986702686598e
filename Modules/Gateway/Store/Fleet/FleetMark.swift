/// How far a gateway has followed the database of its fleet.
///
/// It lies in the gateway's own store. By it a gateway that starts notices an older database in the place of the one that
/// it knew, which would bring back permissions that were withdrawn.
struct FleetMark: Codable, Sendable, Hashable {
    let revision: Int64
    /// The revisions of what there is one of.
    let directory: Int64
    let authorities: Int64
    let relays: Int64

    /// - Parameter state: the whole one.
    /// - Throws: `store` if a part of it is older than this.
    func check(_ state: StoredChanges) throws(GatewayError) {
        guard state.revision >= revision else { throw FleetEra.wasPutBack(state.revision, revision) }
        try Self.check("directory", state.directory?.revision, directory)
        try Self.check("authority", state.authorities?.revision, authorities)
        try Self.check("relay", state.relays?.revision, relays)
    }

    private static func check(_ table: String, _ revision: Int64?, _ known: Int64) throws(GatewayError) {
        guard revision ?? 0 < known else { return }
        throw FleetTables.wasPutBack(table, revision ?? 0, known)
    }
}

/// The revisions of a database between two restorations from a backup. Those after a restoration are above all that there
/// were before, so that gateways and relays take what was restored for the newest.
enum FleetEra {
    /// How many revisions an era has: a fleet does not reach its end.
    static let length: Int64 = 1 << 40

    /// The first revision of the era after the one of `revision`.
    static func end(of revision: Int64) -> Int64 { (revision / length + 1) * length }

    /// The revisions that a database may have which was seen before.
    ///
    /// - Parameter newest: the highest one that was seen; 0 for none.
    static func continuing(_ newest: Int64) -> Range<Int64> { newest..<(newest == 0 ? .max : end(of: newest)) }

    /// - Throws: `store` if the database has gone back, or was restored, since `newest` was seen of it.
    static func check(_ now: Int64, since newest: Int64) throws(GatewayError) {
        let possible = continuing(newest)
        guard now >= possible.lowerBound else { throw wasPutBack(now, newest) }
        guard now < possible.upperBound else { throw wasRestored }
    }

    static func wasPutBack(_ now: Int64, _ newest: Int64) -> GatewayError {
        GatewayError(
            .store,
            "The database is at revision \(now) and was at \(newest) before: it was put back, or it is an old primary that "
                + "has woken. Nothing is taken from it, and nothing is written. If it was restored from a backup on purpose: "
                + "`gateway fleet restored`.")
    }

    private static let wasRestored = GatewayError(
        .store,
        "The database was restored from a backup since this gateway read it. What is known stays in force, and nothing is "
            + "written: start this gateway again.")
}
