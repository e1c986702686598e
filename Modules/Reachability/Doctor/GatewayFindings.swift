internal import SallyportAuthorization
internal import SallyportCore

/// What answers and failures of the gateway say: values only.
enum GatewayFindings {
    /// How far clocks may be apart: what is within it is the network's delay.
    static let fineSkew: Int64 = 60
    /// From here on certificates and tickets are judged wrongly.
    static let badSkew: Int64 = 300

    /// Of a sign of life: name, port and authority.
    static func contact(_ gateway: Endpoint, _ failure: LoadError?) -> [Finding] {
        let name = Finding.ok(.name, "The gateway's name, \(gateway.host), is known.")
        let port = Finding.ok(.port, "The gateway takes connections at \(gateway).")
        guard let failure else {
            return [name, port, .ok(.authority, "It is the gateway that the app was activated with.")]
        }
        switch failure.code {
        case .cannotFindHost:
            return [
                .failed(
                    .name, .unreachable, "The gateway's name, \(gateway.host), is not known here.",
                    "see that this machine's resolver knows it, as 'getent hosts \(gateway.host)' would show")
            ]
        case .serverNotTrusted, .relayNotTrusted, .tlsFailed, .noCommonTLSVersion, .clientCertificateRefused:
            return [name, port, authority(gateway, failure)]
        case .protocolViolation, .responseTooLarge, .decodingFailed:
            return [
                name, port,
                .failed(
                    .authority, .protocolError, "What listens at \(gateway) does not answer as a gateway does.",
                    "see that nothing stands between, and that the gateway's version fits this one"),
            ]
        default:
            return [
                name,
                .failed(
                    .port, .unreachable, "The gateway does not answer at \(gateway): \(failure.shortDescription).",
                    "see that it runs, and that firewalls between let connections to port \(gateway.port) through"),
            ]
        }
    }

    private static func authority(_ gateway: Endpoint, _ failure: LoadError) -> Finding {
        let text = failure.message.lowercased()
        if text.contains("not yet valid") || text.contains("has expired") {
            return .failed(
                .clock, .protocolError, "The gateway's certificate is not valid at this machine's time.",
                "set the clock of this machine, or of the gateway's; timedatectl shows it")
        }
        return .failed(
            .authority, .protocolError,
            "What answers at \(gateway) is not the gateway that the app was activated with: \(failure.code).",
            "see that no other gateway or TLS proxy answers there; after a new 'gateway init' apps are activated anew")
    }

    /// - Parameters:
    ///   - signed: when the gateway says that it is.
    ///   - now: when this machine does.
    static func clock(signed: Int64, now: Int64) -> Finding {
        let skew = now - signed
        let apart = "\(StoreFindings.span(abs(skew))) \(skew > 0 ? "ahead of" : "behind") the gateway's"
        let advice = "set the clock, and let it be kept (systemd-timesyncd, chrony)"
        if abs(skew) >= badSkew {
            return .failed(.clock, .protocolError, "This machine's clock is \(apart).", advice)
        }
        if abs(skew) > fineSkew { return .warning(.clock, "This machine's clock is \(apart).", advice) }
        return .ok(.clock, "This machine's clock agrees with the gateway's.")
    }

    /// Of the question for the configuration: whether the gateway takes the certificate.
    static func identity(status: Int) -> Finding {
        switch status {
        case 200: .ok(.identity, "The gateway takes the instance's certificate.")
        case 401, 403:
            .failed(
                .identity, .notAuthorized, "The gateway refuses the instance's certificate (\(status)).",
                "ask the administrator for a new activation link: the instance was removed, or its store was copied")
        default:
            .failed(
                .identity, .protocolError, "The gateway answers with \(status).",
                "see the gateway's log, which says why")
        }
    }

    static func identity(_ failure: LoadError) -> Finding {
        failure.code == .clientCertificateRefused
            ? identity(status: 403)
            : .failed(
                .identity, .unreachable, "The gateway does not answer the instance: \(failure.shortDescription).",
                "try again; the gateway's log may say more")
    }

    static func status(_ state: AuthorizationState) -> Finding {
        switch state {
        case .locked, .wiped: StoreFindings.withdrawn(.status, state)
        default: .ok(.status, "The administrator lets the app in.")
        }
    }

    static func unverified(_ error: AuthorizationError) -> Finding {
        .failed(
            .status, .protocolError, "The gateway's configuration is not believed: \(error.message)",
            "see whether the gateway's data was restored from an older copy; then activate the app anew")
    }

    // MARK: Relays, names, servers

    static func relay(_ relay: Endpoint, _ cluster: String, _ attempt: RelayAttempt) -> Finding {
        let name = "relay \(relay) of cluster \(cluster)"
        switch attempt {
        case .answered: return .ok(.relay, "The \(name) takes the instance's certificate.")
        case .failed(let failure) where failure.code == .clientCertificateRefused:
            return .failed(
                .relay, .notAuthorized, "The \(name) refuses the instance's certificate.",
                "see that the relay trusts the gateway's authority")
        case .failed(let failure)
        where [.relayNotTrusted, .serverNotTrusted, .tlsFailed, .noCommonTLSVersion].contains(failure.code):
            return .failed(
                .relay, .protocolError, "The \(name) is not the one that the policy names: \(failure.code).",
                "see that its certificate is of the gateway's authority and for \(relay.host)")
        case .failed(let failure):
            return .failed(
                .relay, .unreachable, "The \(name) cannot be reached: \(failure.shortDescription).",
                "see that it runs, and that firewalls between let connections to port \(relay.port) through")
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
                .names, "The gateway does not look \(name) up: \(error.code) (\(error.documentedNumber ?? 0)).",
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
                .server, .notAuthorized, "The policy does not lead there: \(why).",
                "ask the administrator to list it, with 'sallyport admin server add \(endpoint)'")
        default: return unreached(endpoint, found, route)
        }
    }

    private static func unreached(_ endpoint: Endpoint, _ found: ServerReachability, _ route: String) -> Finding {
        let failure = found.attempts.compactMap(\.failure).first
        let what = failure.map { "\($0.shortDescription): \($0.message)" } ?? "\(found.code)"
        let isOfServer = failure?.code == .serverNotTrusted || failure?.step == .serverTLS
        if found.code == .notTrusted, isOfServer {
            return .failed(
                .server, .protocolError, "\(endpoint) is reached (\(route)), but TLS with it fails: \(what)",
                "a private authority is trusted with --ca FILE")
        }
        switch found.code {
        case .notTrusted:
            return .failed(
                .server, .protocolError, "\(endpoint) is not reached (\(route)): \(what)", "see the checks of the relay"
            )
        case .refused:
            return .failed(
                .server, .unreachable, "The relay does not lead to \(endpoint): \(what)",
                "see that the server runs, and that the gateway knows its name and is let through to it")
        default:
            return .failed(
                .server, .unreachable, "\(endpoint) is not reached (\(route)): \(what)",
                "see that the server runs, and that this machine is let through to it, or its relay")
        }
    }
}

/// What came of a handshake with a relay.
enum RelayAttempt: Sendable {
    case answered
    case failed(LoadError)
}
