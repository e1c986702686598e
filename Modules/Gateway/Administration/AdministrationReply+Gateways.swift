package import Foundation

extension AdministrationReply {
    /// The fleet, as one of its gateways sees it.
    package struct FleetEntry: Sendable, Hashable, Codable {
        /// Of the store; nil if it does not answer, or is not believed.
        package var revision: Int64?
        /// Why not.
        package var fault: String?
        /// What to look at, though the store answers.
        package var warning: String?
        /// The revision that is in force at this gateway.
        package var applied: Int64
        /// None if the store does not answer.
        package var gateways: [GatewayEntry] = []
        package var relays: [RelayEntry]

        package init(revision: Int64? = nil, fault: String? = nil, applied: Int64, relays: [RelayEntry]) {
            (self.revision, self.fault, self.applied, self.relays) = (revision, fault, applied, relays)
        }
    }

    /// A gateway of the fleet.
    package struct GatewayEntry: Sendable, Hashable, Codable {
        package var id: String
        package var name: String
        /// HOST:PORT at which apps find it, and its relay.
        package var control: String
        package var relay: String
        /// `running`, `ended` in order, or `silent`: not seen for 30 s.
        package var state: String
        package var seen: Date
        /// The revision of the policy that it has reached.
        package var applied: Int64
        /// Whether it is the one that answers.
        package var isThis: Bool

        package init(
            id: String, name: String, control: String, relay: String, state: String, seen: Date, applied: Int64,
            isThis: Bool
        ) {
            (self.id, self.name, self.control, self.relay) = (id, name, control, relay)
            (self.state, self.seen, self.applied, self.isThis) = (state, seen, applied, isThis)
        }
    }
}
