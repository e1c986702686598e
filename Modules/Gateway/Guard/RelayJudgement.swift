internal import SallyportCore

/// A policy's verdict, as far as it can be applied to a relay that resolves names itself: the addresses of a target are
/// known only if the target is an address.
enum RelayJudgement: Sendable, Hashable {
    case allowed(instance: String)
    case refused(String)
    /// There is nothing to judge by, for now.
    case unavailable(String)

    init(_ verdict: RelayVerdict, of target: Endpoint) {
        switch verdict {
        case .refused(_, let details, let status): self = status == 503 ? .unavailable(details) : .refused(details)
        case .unknown: self = .refused("The certificate is not accepted.")
        case .allowed(let instance, _, let mayBeLocal, _):
            // Denied networks were judged with the target, as far as it is an address.
            self = mayBeLocal || !Self.isLocal(target.host) ? .allowed(instance: instance) : .refused(Self.forbidden)
        }
    }

    private static let forbidden = "The target is a forbidden address."

    private static func isLocal(_ host: Host) -> Bool {
        switch host {
        case .name(let name): name == "localhost"
        case .address(let address): address.scope != .general
        }
    }

    /// Why a tunnel may neither be opened nor stay; nil if it may.
    var refusal: String? {
        switch self {
        case .allowed: nil
        case .refused(let reason), .unavailable(let reason): reason
        }
    }

    var answer: GuardAnswer {
        switch self {
        case .allowed(let instance): .allowed(instance: instance)
        case .refused(let reason): .refused(reason)
        case .unavailable(let reason): .unavailable(reason)
        }
    }
}
