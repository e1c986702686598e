import SallyportAuthorization
import SallyportCore
import SallyportReachability

/// Findings of relays, name look-ups and servers: values only.
enum WayFindings {
    static func relay(_ relay: Endpoint, _ cluster: String, _ attempt: RelayAttempt) -> Finding {
        let name = "relay \(relay) of cluster \(cluster)"
        switch attempt {
        case .answered: return .ok(.relay, "The \(name) takes the instance's certificate.")
        case .failed(let failure) where failure.code == .clientCertificateRefused:
            return .failed(
                .relay, .notAuthorized, "The \(name) refuses the instance's certificate.",
                "see that the relay trusts the gateway's authority")
        case .failed(let failure) where failure.isOfTime:
            return .failed(
                .relay, .protocolError, "The certificate of the \(name) is not valid at this machine's time.",
                "set the clock of this machine, or see why the relay's certificate was not renewed")
        case .failed(let failure)
        where [.relayNotTrusted, .serverNotTrusted, .tlsFailed, .noCommonTLSVersion].contains(failure.code):
            return .failed(
                .relay, .protocolError, "The \(name) is not the one that the policy names: \(failure)",
                "see that its certificate is of the gateway's authority and for \(relay.host)")
        case .failed(let failure):
            return .failed(
                .relay, .unreachable, "The \(name) cannot be reached: \(failure)",
                failure.adviceWhereNobodyAnswers(at: relay.port))
        }
    }

    static func names(_ name: String, _ outcome: Result<NameAnswer, NameError>) -> Finding {
        switch outcome {
        case .success(let answer) where answer.exists:
            return .ok(.names, "The gateway answers for names inside, as \(name).")
        case .success:
            return .warning(
                .names, "The gateway's resolver does not know \(name), which the policy lists.",
                "see the gateway's resolver ('gateway run --dns'), or list the server with '--address'")
        case .failure(let error) where error.code == .hostNotListed:
            return .warning(
                .names, "The gateway does not answer for \(name), which the stored policy relays.",
                "start the app, so that it fetches the policy that holds now")
        case .failure(let error):
            return .warning(
                .names,
                "The gateway does not look \(name) up: \(error.code) (\(error.documentedNumber ?? 0)). \(error.message)",
                "see the gateway's resolver ('gateway run --dns'); Kerberos and look-ups by the app need it")
        }
    }

    static func server(_ endpoint: Endpoint, _ found: ServerReachability) -> Finding {
        let route = found.decision.map { "\($0.route) by \($0.rule)" } ?? "no route"
        switch found.code {
        case .noError: return .ok(.server, "\(endpoint) is reached (\(route)).")
        case .notAuthorized:
            return .skipped(.server, "\(endpoint): no policy says how it is reached.")
        case .refused where found.attempts.isEmpty:
            let why = found.decision.map { "\($0)" } ?? "\(endpoint)"
            return .failed(
                .server, .notAuthorized, "The policy denies access: \(why).",
                "ask the administrator to list it, with 'sallyport admin server add \(endpoint)'")
        default: return unreached(endpoint, found, route)
        }
    }

    private static func unreached(_ endpoint: Endpoint, _ found: ServerReachability, _ route: String) -> Finding {
        let failure = found.attempts.compactMap(\.failure).first
        let what = failure.map(String.init(describing:)) ?? "\(found.code)"
        let isOfServer = failure?.code == .serverNotTrusted || failure?.step == .serverTLS
        if found.code == .notTrusted, isOfServer {
            let advice =
                failure?.isOfTime == true
                ? "set the clock of this machine, or see that the server's certificate is renewed"
                : "a private authority is trusted with --ca FILE"
            return .failed(
                .server, .protocolError, "\(endpoint) is reached (\(route)), but TLS with it fails: \(what)", advice)
        }
        switch found.code {
        case .notTrusted:
            return .failed(
                .server, .protocolError, "\(endpoint) is not reached (\(route)): \(what)", "see the checks of the relay"
            )
        case .refused:
            return .failed(
                .server, .unreachable, "The relay does not lead to \(endpoint): \(what)",
                "see that the server runs, that the gateway knows its name, and that firewalls let the gateway through to it"
            )
        default:
            return .failed(
                .server, .unreachable, "\(endpoint) is not reached (\(route)): \(what)",
                "see that the server runs, and that firewalls let this machine through to it, or to the relay")
        }
    }
}

/// The result of a handshake with a relay.
enum RelayAttempt: Sendable {
    case answered
    case failed(LoadError)
}
