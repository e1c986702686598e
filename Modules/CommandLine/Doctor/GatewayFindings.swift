import SallyportAuthorization
import SallyportCore

/// Findings from answers and failures of the gateway's control port: values only.
enum GatewayFindings {
    /// The acceptable difference between clocks, which the network's delay may cause.
    static let fineSkew: Int64 = 60
    /// From this difference on, certificates and tickets are judged wrongly.
    static let badSkew: Int64 = 300

    /// The findings of a probe: name, port and authority.
    static func contact(_ gateway: Endpoint, _ failure: LoadError?) -> [Finding] {
        let name = Finding.ok(.name, "The gateway's name, \(gateway.host), is known.")
        let port = Finding.ok(.port, "The gateway takes connections at \(gateway).")
        guard let failure else {
            return [name, port, .ok(.authority, "It is a gateway of an authority that the app trusts.")]
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
                    .port, .unreachable, "The gateway does not answer at \(gateway): \(failure)",
                    failure.adviceWhereNobodyAnswers(at: gateway.port)),
            ]
        }
    }

    private static func authority(_ gateway: Endpoint, _ failure: LoadError) -> Finding {
        if failure.isOfTime {
            return .failed(
                .clock, .protocolError, "The gateway's certificate is not valid at this machine's time.",
                "set the clock of this machine, or of the gateway's; timedatectl shows it")
        }
        return .failed(
            .authority, .protocolError,
            "What answers at \(gateway) is no gateway of an authority that the app trusts: \(failure)",
            "see that no other gateway or TLS proxy answers there; apps are activated anew "
                + "after a new 'gateway init', and after a 'gateway authority rotate' that they missed")
    }

    /// - Parameters:
    ///   - signed: the time according to the gateway.
    ///   - now: the time according to this machine.
    static func clock(signed: Int64, now: Int64) -> Finding {
        let skew = now - signed
        let apart = "\(StoreFindings.span(abs(skew))) \(skew > 0 ? "ahead of" : "behind") the gateway's"
        let advice = "set the clock, and keep it right with systemd-timesyncd or chrony"
        if abs(skew) >= badSkew {
            return .failed(.clock, .protocolError, "This machine's clock is \(apart).", advice)
        }
        if abs(skew) > fineSkew { return .warning(.clock, "This machine's clock is \(apart).", advice) }
        return .ok(.clock, "This machine's clock agrees with the gateway's.")
    }

    /// The findings of the request for the configuration: whether the gateway accepts the certificate.
    ///
    /// - Parameter isExpired: whether the certificate has expired, by this machine's clock.
    static func identity(status: Int, isExpired: Bool = false) -> Finding {
        switch status {
        case 200: .ok(.identity, "The gateway takes the instance's certificate.")
        case 401 where isExpired, 403 where isExpired:
            .failed(
                .identity, .notAuthorized,
                "The gateway refuses the instance's certificate, which has expired (\(status)).",
                "see the check of the certificate")
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

    static func identity(_ failure: LoadError, isExpired: Bool = false) -> Finding {
        failure.code == .clientCertificateRefused
            ? identity(status: 403, isExpired: isExpired)
            : .failed(
                .identity, .unreachable, "The gateway does not answer the instance: \(failure)",
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
}

extension LoadError {
    /// A server that accepts connections but breaks the handshake is probably not the gateway.
    func adviceWhereNobodyAnswers(at port: UInt16) -> String {
        code == .connectionLost && step == .serverTLS
            ? "see that nothing else has port \(port), and that nothing between breaks TLS"
            : "see that it runs, and that firewalls between let connections to port \(port) through"
    }
}
