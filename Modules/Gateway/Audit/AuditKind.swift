/// What an entry of the audit trail is about.
package enum AuditKind: String, Sendable, Hashable, Codable, CaseIterable {
    /// An administrator's command, or another act of administration.
    case administration
    /// An instance was activated.
    case activation
    /// An instance's certificate was renewed.
    case renewal
    /// The gateway itself has locked an instance, whose store was copied or put back.
    case lock
    /// The gateway itself has changed what is due by the clock.
    case maintenance
    /// The verdict on a CONNECT: of a relay, or of a guard on a CONNECT to a foreign one.
    case connect
    /// The end of a tunnel.
    case tunnel
    /// A request to the control plane was refused.
    case refusal
    /// Entries could not be kept.
    case lost
    /// The gateway began to listen, or has ended.
    case start, stop
}

/// The names of an entry's fields.
enum AuditField: String, Sendable, Hashable, CaseIterable {
    /// The name of the gateway that has written the entry.
    case gateway
    case kind
    /// Who acted: see ``AuditActor``.
    case actor
    /// Of an actor with an account on the gateway's machine.
    case uid, account
    /// The command, the path of a request, or `guard` for what a guard has decided.
    case action
    /// `done`, `unchanged`, `opened`, an error's code, a guard's answer, how a tunnel ended.
    case outcome
    case user, entitlement, version, instance
    /// A server, a domain, a cluster, a realm.
    case target
    /// The identifier of an access key, which is not the key.
    case key
    /// The address of a peer.
    case source
    /// The address that was dialled.
    case address
    /// The bytes that a tunnel carried: from the instance to the server, and back.
    case sent, received
    /// How long a tunnel was open.
    case milliseconds
    /// How many there were; 1 where there is none.
    case count
    /// The instances that ended by a command, the first hundred.
    case ended
    /// The name of the relay on a machine of its own that has told of this.
    case relay
    /// The relay's process, and the number of the batch that this came with. A batch in two places was told twice.
    case batch
    /// Of what a relay has told: when it happened, by the relay's clock.
    case detail
    /// Random, so that the hash of an entry does not let its content be guessed.
    case salt

    /// Written as numbers in JSON.
    var isNumber: Bool {
        switch self {
        case .uid, .sent, .received, .milliseconds, .count: true
        default: false
        }
    }
}
