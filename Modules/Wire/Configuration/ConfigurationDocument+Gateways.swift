package import SallyportCore

extension ConfigurationDocument {
    /// A gateway of the fleet: its control listener.
    package struct Gateway: Sendable, Hashable {
        package var endpoint: Endpoint
        /// Gateway 1 is tried first.
        package var priority: Int

        package init(_ endpoint: Endpoint, priority: Int) {
            self.endpoint = endpoint
            self.priority = priority
        }
    }
}

extension ConfigurationDocument.Gateway: Codable {
    private enum CodingKeys: String, CodingKey { case host, port, priority }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        endpoint = try container.decodeEndpoint(host: .host, port: .port)
        priority = try container.decode(Int.self, forKey: .priority)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(endpoint, host: .host, port: .port)
        try container.encode(priority, forKey: .priority)
    }
}
