internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

// Parts whose members must be validated when they are read: endpoints, names, certificates.

extension ConfigurationDocument.Server: Codable {
    private enum CodingKeys: String, CodingKey { case host, port, priority, route, app, secondary }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        endpoint = try container.decodeEndpoint(host: .host, port: .port)
        priority = try container.decode(Int.self, forKey: .priority)
        route = try container.decode(Route.self, forKey: .route)
        isApplicationServer = try container.decode(Bool.self, forKey: .app)
        secondary = try container.decodeIfPresent(String.self, forKey: .secondary)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(endpoint, host: .host, port: .port)
        try container.encode(priority, forKey: .priority)
        try container.encode(route, forKey: .route)
        try container.encode(isApplicationServer, forKey: .app)
        try container.encodeIfPresent(secondary, forKey: .secondary)
    }
}

extension ConfigurationDocument.Domain: Codable {
    private enum CodingKeys: String, CodingKey { case name, route, ports, secondary }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let text = try container.decode(String.self, forKey: .name)
        // A name in another spelling would never match: the document is wrong and would mean less than intended.
        guard case .name(text)? = try? Host(text) else {
            throw DecodingError.dataCorruptedError(
                forKey: .name, in: container, debugDescription: "Not a domain in A-labels and lower case.")
        }
        name = text
        route = try container.decode(Route.self, forKey: .route)
        ports = try container.decode([UInt16].self, forKey: .ports)
        secondary = try container.decodeIfPresent(String.self, forKey: .secondary)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(route, forKey: .route)
        try container.encode(ports, forKey: .ports)
        try container.encodeIfPresent(secondary, forKey: .secondary)
    }
}

extension ConfigurationDocument.Realm: Codable {
    private enum CodingKeys: String, CodingKey { case name, kdcs }
    private struct KDC: Codable {
        var endpoint: Endpoint
        private enum CodingKeys: String, CodingKey { case host, port }

        init(_ endpoint: Endpoint) { self.endpoint = endpoint }

        init(from decoder: any Decoder) throws {
            endpoint = try decoder.container(keyedBy: CodingKeys.self).decodeEndpoint(host: .host, port: .port)
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(endpoint, host: .host, port: .port)
        }
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        name = try container.decode(String.self, forKey: .name)
        kdcs = try container.decode([KDC].self, forKey: .kdcs).map(\.endpoint)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(kdcs.map(KDC.init), forKey: .kdcs)
    }
}

extension ConfigurationDocument.Trust: Codable {
    private enum CodingKeys: String, CodingKey { case authorities, endorsements, signers }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        authorities = try container.decode([String].self, forKey: .authorities).map { try Base64.decode($0.utf8) }
        endorsements = try container.decode([String].self, forKey: .endorsements).map { try Base64.decode($0.utf8) }
        signers = try container.decode(Int64.self, forKey: .signers)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(authorities.map(Base64.encode), forKey: .authorities)
        try container.encode(endorsements.map(Base64.encode), forKey: .endorsements)
        try container.encode(signers, forKey: .signers)
    }
}

extension ConfigurationDocument.Cluster: Codable {
    private enum CodingKeys: String, CodingKey { case name, relays, authorities }
    private struct Relay: Codable {
        var relay: RelayAccess.Relay
        private enum CodingKeys: String, CodingKey { case host, port, priority }

        init(_ relay: RelayAccess.Relay) { self.relay = relay }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            relay = RelayAccess.Relay(
                try container.decodeEndpoint(host: .host, port: .port),
                priority: try container.decode(Int.self, forKey: .priority))
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(relay.endpoint, host: .host, port: .port)
            try container.encode(relay.priority, forKey: .priority)
        }
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        name = try container.decode(String.self, forKey: .name)
        relays = try container.decode([Relay].self, forKey: .relays).map(\.relay)
        authorities = try container.decode([String].self, forKey: .authorities).map { try Base64.decode($0.utf8) }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(relays.map(Relay.init), forKey: .relays)
        try container.encode(authorities.map(Base64.encode), forKey: .authorities)
    }
}

extension KeyedDecodingContainer {
    func decodeEndpoint(host: Key, port: Key) throws -> Endpoint {
        let text = try decode(String.self, forKey: host)
        let number = try decode(UInt16.self, forKey: port)
        do {
            return try Endpoint(host: Host(text), port: number)
        } catch {
            throw DecodingError.dataCorruptedError(forKey: host, in: self, debugDescription: "Not a host and a port.")
        }
    }
}

extension KeyedEncodingContainer {
    mutating func encode(_ endpoint: Endpoint, host: Key, port: Key) throws {
        try encode(endpoint.host.bareText, forKey: host)
        try encode(endpoint.port, forKey: port)
    }
}
