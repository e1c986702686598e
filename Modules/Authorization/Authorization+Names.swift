internal import HTTPTypes
public import SallyportCore
internal import SallyportLoading
package import SallyportWire

extension Authorization: NameLookup {
    /// Asks the gateway, which resolves names that the policy relays (RFC 8484).
    public func services(of name: String) async throws(LoadError) -> [ServiceRecord] {
        guard let name = DNSName(name) else {
            throw LoadError(.invalidRequest, at: .nameLookup, "The name has no form in DNS.")
        }
        let answer = try await answer(to: DNSMessage(query: .init(name, .srv)))
        return answer.answers.compactMap { record in
            guard case .service(let priority, let weight, let port, let target) = record.data, port > 0,
                let host = try? Host(target.description), let endpoint = try? Endpoint(host: host, port: port)
            else { return nil }
            return ServiceRecord(endpoint, priority: priority, weight: weight)
        }
    }

    /// The gateway's answer to a query.
    ///
    /// - Throws: the gate's refusal; `refusedByPolicy` for a name that the policy does not relay; `cannotFindHost` if
    ///   there is no such name, or if the gateway's resolver failed; errors of the exchange with the gateway.
    package func answer(to query: DNSMessage) async throws(LoadError) -> DNSMessage {
        switch try await outcome(of: query) {
        case .refused(let status):
            throw LoadError(.cannotFindHost, at: .nameLookup, "The gateway does not answer for names: \(status).")
        case .unreadable:
            throw LoadError(.cannotFindHost, at: .nameLookup, "The gateway's answer does not match the query.")
        case .answered(let message):
            switch message.code {
            case .noError: return message
            case .refused:
                throw LoadError(
                    .refusedByPolicy, at: .nameLookup, "The policy does not relay \(query.question.name).")
            case .nameError:
                throw LoadError(.cannotFindHost, at: .nameLookup, "There is no \(query.question.name) inside.")
            default: throw LoadError(.cannotFindHost, at: .nameLookup, "The gateway's resolver failed.")
            }
        }
    }

    /// The gateway's reaction to a query.
    ///
    /// - Throws: the gate's refusal; errors of the exchange with the gateway.
    package func outcome(
        of query: DNSMessage, within limit: Duration = .seconds(10)
    ) async throws(LoadError) -> NameOutcome {
        do throws(AccessDenied) { try checkAuthorized() } catch { throw LoadError(error) }
        guard let identity, let gateway = try? identity.endpoint() else {
            throw LoadError(
                .internalFailure, at: .nameLookup, "No name is looked up: the app has no certificate for its gateway.")
        }
        return try await FleetClient(self).ask(
            query, at: gateway, authorities: identity.trust.authorities, as: identity.clientIdentity, within: limit)
    }
}

extension ControlClient {
    /// Sends a query to a gateway (RFC 8484).
    package func ask(
        _ query: DNSMessage, at gateway: Endpoint, authorities: [[UInt8]], as identity: ClientIdentity,
        within limit: Duration
    ) async throws(LoadError) -> NameOutcome {
        guard let bytes = try? query.serialized() else {
            throw LoadError(.internalFailure, at: .nameLookup, "The query does not fit a DNS message.")
        }
        var request = ControlRequest(
            method: .post, gateway: gateway, target: ControlAPI.Path.names, body: bytes,
            trust: .authorities(authorities), identity: identity, limit: DNSMessage.maximumLength, timeout: limit)
        request.headerFields[.contentType] = ControlAPI.MediaType.query
        request.headerFields[.accept] = ControlAPI.MediaType.query
        let answer = try await send(request)
        guard answer.status == 200 else { return .refused(status: answer.status) }
        guard let message = try? DNSMessage(parsing: answer.body), message.isResponse,
            message.question == query.question
        else { return .unreadable }
        return .answered(message)
    }
}

/// The result of a DNS query.
package enum NameOutcome: Sendable, Hashable {
    /// A matching answer, whatever it contains.
    case answered(DNSMessage)
    /// The gateway takes no queries, or not so many.
    case refused(status: Int)
    /// The gateway sent something else.
    case unreadable
}
