internal import HashTreeCollections
internal import SallyportCore
internal import SallyportWire

/// What an instance's report about its store shows.
enum StoreStanding: Sendable, Hashable {
    /// The store is as new as the instance's earlier reports, or newer.
    case current
    /// A newer configuration, with this epoch, was stored before. The request may just be late, so the instance must
    /// repeat it and name this epoch.
    case behind(Int64)
    /// The store was restored from an older copy. The instance is locked.
    case putBack
}

extension GatewayData {
    /// Compares the configuration that an instance's store holds with the newest that it has reported.
    ///
    /// A lower epoch alone proves nothing: a request sent before the newer configuration was stored may arrive after a
    /// later one. A request that names the epoch from a refusal was sent after that refusal; if the store still holds
    /// an older configuration then, it was restored from an older copy.
    ///
    /// - Parameters:
    ///   - stored: The epoch of the stored configuration, 0 for none.
    ///   - told: The epoch that the refusal of the last request named.
    func standing(
        ofStoreWith stored: Int64, told: Int64?, of presented: PresentedCertificate
    ) async throws -> StoreStanding {
        let certificate = try await known(presented).standing(of: presented.serial)
        guard certificate != .unknown else { throw GatewayError(.unauthorized, "The certificate is not known here.") }
        if certificate.isAccepted { contacts.note(presented.name.instance, at: clock()) }
        let note = note(.lock, of: instances[presented.name.instance]).with(.detail, "store put back")
        return try await change(presented.name.instance, audit: note) { record in
            guard stored < record.stored else {
                // A report under a retired certificate is used only if it speaks against the store. An epoch that was
                // never signed is not recorded: no later report could reach it.
                if certificate != .retired { record.stored = max(record.stored, min(stored, record.epoch)) }
                return .current
            }
            guard told == record.stored else { return .behind(record.stored) }
            record.withdrawals.insert(.locked)
            return .putBack
        }.value
    }
}
