internal import SallyportCore

/// A policy's verdict, as far as it can be applied to a relay that resolves names itself: the addresses of a target are
/// known only if the target is an address.
enum RelayJudgement: Sendable, Hashable {
    case allowed(instance: String)
    case refused(String)

    init(_ verdict: RelayVerdict, of target: Endpoint) {
        switch verdict {
        case .refused(_, let details, _): self = .refused(details)
        case .allowed(let instance, _, let mayBeLocal, let rules):
            if let reason = Self.denial(of: target, mayBeLocal, rules) {
                self = .refused(reason)
            } else {
                self = .allowed(instance: instance)
            }
        }
    }

    /// Why the address that a target is may not be connected to.
    private static func denial(of target: Endpoint, _ mayBeLocal: Bool, _ rules: AddressRules) -> String? {
        switch target.host {
        case .name(let name):
            return name == "localhost" && !mayBeLocal ? "The name leads to a forbidden address." : nil
        case .address(let address):
            if address.scope != .general, !mayBeLocal { return "The address is a forbidden one." }
            return rules.denial(of: address, port: target.port, for: target).map { "The address is denied: \($0)." }
        }
    }

    var answer: GuardAnswer {
        switch self {
        case .allowed(let instance): .allowed(instance: instance)
        case .refused(let reason): .refused(reason)
        }
    }
}
