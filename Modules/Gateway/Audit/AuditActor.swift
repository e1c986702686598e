internal import Glibc

/// Who did what an entry of the audit trail tells.
package enum AuditActor: Sendable, Hashable {
    /// The user at the other end of the administration socket, as the kernel knows it, with the name of its account.
    case socket(uid: UInt32, account: String?)
    /// The user whose process has opened the data directory itself.
    case directory(uid: UInt32, account: String?)
    /// The program that this gateway is a part of.
    case embedder
    /// The gateway by itself.
    case gateway
    /// An app's instance, by its certificate or by an access key.
    case instance
    /// A relay on a machine of its own, by its certificate.
    case relay
    /// A peer without an identity.
    case peer

    var name: String {
        switch self {
        case .socket: "socket"
        case .directory: "directory"
        case .embedder: "embedder"
        case .gateway: "gateway"
        case .instance: "instance"
        case .relay: "relay"
        case .peer: "peer"
        }
    }

    /// The user and the name of its account; nil for an actor that is none.
    var user: (uid: UInt32, account: String?)? {
        switch self {
        case .socket(let uid, let account), .directory(let uid, let account): (uid, account)
        case .embedder, .gateway, .instance, .relay, .peer: nil
        }
    }

    /// The user of this process. Asks the system's directory of users, which may block.
    static func processUser() -> AuditActor {
        let user = geteuid()
        return .directory(uid: user, account: AdministrationAccess.accountName(user))
    }
}
