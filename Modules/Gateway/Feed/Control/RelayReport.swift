/// In how many relays a change is in force.
package struct RelayReport: Sendable, Hashable, Codable {
    /// A relay that has not applied the change in time.
    package struct Missing: Sendable, Hashable, Codable {
        package var name: String
        /// Milliseconds since it answered last; nil if it never did since this gateway runs.
        package var silent: Int64?

        package init(name: String, silent: Int64?) { (self.name, self.silent) = (name, silent) }
    }

    package var inForce: Int
    /// Of how many.
    package var relays: Int
    /// From the command to the last answer, or to the end of the wait.
    package var milliseconds: Int64
    package var missing: [Missing]
}

extension AdministrationCommand {
    /// Whether it takes something away, so that it matters when relays have heard of it.
    var withdraws: Bool {
        switch self {
        case .apply(_, _, let isDryRun, _): !isDryRun
        case .withdraw(_, let withdrawal, _): withdrawal != .unblock && withdrawal != .unlock
        case .removeUser, .removeApplication, .unentitle, .removeServer, .setRoute, .removeRoute: true
        default: false
        }
    }
}
