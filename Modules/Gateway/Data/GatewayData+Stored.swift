internal import SallyportCore
internal import SallyportWire

/// What an instance's word about its store shows.
enum StoreStanding: Sendable, Hashable {
    /// Its store is as new as it ever said, or newer.
    case current
    /// A newer configuration, of the epoch given, was stored before. The question may have come late, so it is to be put
    /// again, and to name that epoch.
    case behind(Int64)
    /// The store is an older one, put in place of what was there. The instance is locked.
    case putBack
}

extension GatewayData {
    /// Compares the configuration that an instance's store holds with the newest that it said it had stored.
    ///
    /// A lower epoch alone proves nothing: a question that was sent before the newer configuration was stored may be
    /// overtaken by its successor. One that names what it was told was put afterwards, and a store that still holds an
    /// older configuration was put back.
    ///
    /// - Parameters:
    ///   - stored: The epoch of the stored configuration, 0 for none.
    ///   - told: The epoch that the refusal of the last question named.
    func standing(
        ofStoreWith stored: Int64, told: Int64?, of presented: PresentedCertificate
    ) async throws -> StoreStanding {
        guard let record = instances[presented.name.instance], record.name == presented.name else {
            throw GatewayError(.unauthorized, "The instance is not known here.")
        }
        let certificate = record.standing(of: presented.serial)
        guard certificate != .unknown else { throw GatewayError(.unauthorized, "The certificate is not known here.") }
        guard stored < record.stored else {
            // A replaced certificate is believed only in what speaks against its store.
            guard certificate != .retired else { return .current }
            // What was never signed is not noted: nothing that comes later could be as new.
            let noted = min(stored, newestEpoch(of: record))
            guard noted > record.stored else { return .current }
            try await change(presented.name.instance, isAnnounced: false) {
                $0.stored = max($0.stored, noted)
            }
            return .current
        }
        guard told == record.stored else { return .behind(record.stored) }
        try await change(presented.name.instance) { $0.withdrawals.insert(.locked) }
        return .putBack
    }
}
