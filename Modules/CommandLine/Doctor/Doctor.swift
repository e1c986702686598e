import HTTPTypes
import SallyportAuthorization
import SallyportConnecting
import SallyportCore
import SallyportLoading
import SallyportReachability
import SallyportTransport
import SallyportWire

/// Checks everything between a store and a server, step by step, and says in words what is wrong and what to do.
///
/// Changes nothing: the store is only read, no event stream is opened, and the gateway's answers are not stored.
struct Doctor: Sendable {
    /// A server to look at.
    struct Server: Sendable, Hashable {
        let endpoint: Endpoint
        let isSecure: Bool

        init(_ endpoint: Endpoint, isSecure: Bool) { (self.endpoint, self.isSecure) = (endpoint, isSecure) }
    }

    private let stored: StoredAuthorization
    private let contact: StoredContact?
    private let trust: ServerTrust
    private let limit: Duration
    private let clock: any AuthorizationClock

    /// - Parameters:
    ///   - trust: the authorities that may issue servers' certificates.
    ///   - limit: the longest time for each step.
    init(
        _ stored: StoredAuthorization, trusting trust: ServerTrust = .system, within limit: Duration = .seconds(10),
        clock: any AuthorizationClock = SystemClock()
    ) {
        self.stored = stored
        contact = stored.contact
        self.trust = trust
        self.limit = limit
        self.clock = clock
    }

    /// The findings of all checks, in order. Checks that depend on a failed one are skipped.
    func examine(_ servers: [Server]) async -> [Finding] {
        var findings = StoreFindings.of(stored, contact, at: clock.wall)
        guard let contact else { return findings }
        let transport = Transport()
        let client = TransportControlClient(transport)
        let (found, answered) = await gateways(contact, client)
        findings += found
        if let answered { findings.append(await names(answered.contact, client)) }
        let policy = answered?.policy ?? contact.policy
        findings += await relays(policy, client)
        findings += await check(servers, policy)
        await transport.shutdown()
        return findings
    }

    // MARK: The gateway

    /// Tries the gateways in turn, as an app does, until one answers the instance. Those before it do not keep the app
    /// from working: what is wrong with them is a warning then.
    ///
    /// - Returns: what was found, and the contact with the gateway that has answered with a configuration, if one has.
    private func gateways(
        _ contact: StoredContact, _ client: TransportControlClient
    ) async -> (findings: [Finding], answered: (contact: StoredContact, policy: StoredPolicy)?) {
        var (failed, warnings): ([Finding], [Finding]) = ([], [])
        for endpoint in contact.gateways {
            let contact = contact.asking(endpoint)
            var findings = await gateway(contact, client)
            if !findings.contains(where: { $0.outcome == .failed }) {
                let asked = await ask(contact, client)
                findings += asked.findings
                if asked.isAnswered {
                    return (warnings + findings, asked.policy.map { (contact: contact, policy: $0) })
                }
            }
            failed += findings
            warnings += findings.compactMap { $0.asWarning(of: endpoint) }
        }
        return (failed, nil)
    }

    private func gateway(_ contact: StoredContact, _ client: TransportControlClient) async -> [Finding] {
        do throws(LoadError) {
            let answer = try await client.send(contact.probe(within: limit))
            guard answer.status == 200 else {
                throw LoadError(.protocolViolation, at: .response, "The gateway answers with \(answer.status).")
            }
            return GatewayFindings.contact(contact.gateway, nil)
        } catch {
            return GatewayFindings.contact(contact.gateway, error)
        }
    }

    /// Requests the current configuration.
    ///
    /// - Returns: with whether an app would ask no other gateway after this answer.
    private func ask(
        _ contact: StoredContact, _ client: TransportControlClient
    ) async -> (findings: [Finding], policy: StoredPolicy?, isAnswered: Bool) {
        var question = contact.question
        question.timeout = limit
        let now = clock.wall
        let isExpired = now > contact.validity.upperBound
        let answer: ControlAnswer
        do throws(LoadError) {
            answer = try await client.send(question)
        } catch {
            let isAnswered = error.code == .clientCertificateRefused
            return ([GatewayFindings.identity(error, isExpired: isExpired)], nil, isAnswered)
        }
        let identity = GatewayFindings.identity(status: answer.status, isExpired: isExpired)
        guard answer.status == 200 else { return ([identity], nil, answer.status < 500) }
        do throws(AuthorizationError) {
            // The signer's certificate is checked for the time of the signature: a wrong clock is a separate finding.
            let signed = StoredContact.claimedTime(answer.body) ?? now
            let policy = try contact.confirm(answer.body, at: signed)
            let status = GatewayFindings.status(policy.state(at: policy.signed))
            return ([GatewayFindings.clock(signed: policy.signed, now: now), identity, status], policy, true)
        } catch {
            return ([identity, GatewayFindings.unverified(error)], nil, true)
        }
    }

    private func names(_ contact: StoredContact, _ client: TransportControlClient) async -> Finding {
        guard let name = contact.relayedName else {
            return .skipped(.names, "No listed server has a name that a relay leads to.")
        }
        let source = ContactNames(contact: contact, client: client)
        do throws(NameError) {
            return WayFindings.names(name, .success(try await Names(source: source).lookUp(name, within: limit)))
        } catch {
            return WayFindings.names(name, .failure(error))
        }
    }

    // MARK: Relays and servers

    private func relays(_ policy: StoredPolicy?, _ client: TransportControlClient) async -> [Finding] {
        var findings: [Finding] = []
        for cluster in policy?.clusters ?? [] {
            for relay in cluster.relays {
                findings.append(
                    WayFindings.relay(relay.endpoint, cluster.cluster, await knock(relay.endpoint, cluster)))
            }
        }
        return findings.isEmpty ? [.skipped(.relay, "The policy names no relays.")] : findings
    }

    /// A request other than CONNECT, which a relay refuses after it has accepted the certificate.
    private func knock(_ relay: Endpoint, _ cluster: RelayAccess) async -> RelayAttempt {
        let transport = Transport()
        var path = ConnectionPath(trust: .gateway(cluster.authorities), identity: cluster.identity)
        path.partition = ConnectionPartition(.doctor)
        let attempt: RelayAttempt
        do throws(LoadError) {
            guard let url = try? RequestURL("https://\(relay)/") else {
                throw LoadError(.invalidRequest, "The relay's address makes no URL.")
            }
            var request = ExchangeRequest(.get, url)
            request.protocols = .http1Only
            request.idleTimeout = limit
            request.connectTimeout = limit
            request.deadline = .now + limit
            let response = try await transport.exchange(request, via: path)
            response.body.discard()
            attempt = .answered
        } catch {
            attempt = .failed(error)
        }
        await transport.shutdown()
        return attempt
    }

    private func check(_ servers: [Server], _ policy: StoredPolicy?) async -> [Finding] {
        guard let policy else {
            return servers.map { server in
                WayFindings.server(
                    server.endpoint, ServerReachability(server.endpoint, by: nil, [], else: .notAuthorized))
            }
        }
        let connector = Connector(gate: StoredGate(policy: policy))
        var findings: [Finding] = []
        for server in servers {
            let check = ServerCheck(
                endpoint: server.endpoint, isSecure: server.isSecure, trust: trust.anchors, limit: limit)
            findings.append(WayFindings.server(server.endpoint, await check.run(through: connector)))
        }
        await connector.shutdown()
        return findings
    }
}

/// Sends queries with the identity from a store.
private struct ContactNames: NameSource {
    let contact: StoredContact
    let client: TransportControlClient

    func outcome(of query: DNSMessage, within limit: Duration) async throws(LoadError) -> NameOutcome {
        try await client.ask(
            query, at: contact.gateway, authorities: contact.authorities, as: contact.identity, within: limit)
    }
}
