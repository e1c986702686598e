/// The gateway's control plane, shared by both sides: paths, media types, bodies.
package enum ControlAPI {
    /// The default port of control and verification.
    package static let defaultPort: UInt16 = 17433
    /// The default port of the relay.
    package static let defaultRelayPort: UInt16 = 17533

    package enum Path {
        /// EST (RFC 7030 §3.2.2). No client certificate.
        package static let authorities = "/.well-known/est/cacerts"
        /// EST. No client certificate; Basic credentials. Query: `entitlement`, `version`.
        package static let enroll = "/.well-known/est/simpleenroll"
        /// EST. Needs the client certificate that is renewed, even one that expired within 30 days.
        package static let reenroll = "/.well-known/est/simplereenroll"
        /// Needs a client certificate. Query: `version`, `stored`, `told`.
        package static let configuration = "/v1/configuration"
        /// Needs a client certificate. Query: `stored`. Reports which configuration the instance's store now holds.
        package static let storedConfiguration = "/v1/stored-configuration"
        /// Needs a client certificate. Server-sent events.
        package static let events = "/v1/events"
        /// Needs a client certificate. DNS over HTTPS (RFC 8484), by POST.
        package static let names = "/dns-query"
        /// No client certificate.
        package static let health = "/health"
    }

    package enum Query {
        package static let entitlement = "entitlement"
        package static let version = "version"
        /// The epoch of the configuration that the instance's store holds; 0 for none.
        package static let stored = "stored"
        /// The epoch that a refusal named: it shows that the request was sent after that refusal and is not a delayed
        /// one.
        package static let told = "told"
    }

    package enum MediaType {
        package static let certificateRequest = "application/pkcs10"
        package static let certificates = "application/pkcs7-mime; smime-type=certs-only"
        package static let configuration = "application/jose"
        package static let events = "text/event-stream"
        /// RFC 8484 §6.
        package static let query = "application/dns-message"
        package static let json = "application/json"
    }

    /// The longest bodies that are read, in bytes.
    package enum Limits {
        /// A request to the control plane.
        package static let request = 64 << 10
        package static let certificates = CertificateBag.maximumLength
        package static let configuration = JWS.Limits().document
        package static let error = 4096
        /// A DNS query: one question, and additional records.
        package static let query = 4096
    }

    /// The `name` of a ``Failure`` with status 403, which says why a request is refused.
    package enum Refusal {
        /// The instance's certificate has expired, by the gateway's clock: it can be renewed for 30 days.
        package static let expired = "expired"
        /// The key is right, but was used already.
        package static let keyUsed = "keyUsed"
        /// The key is right, but has expired.
        package static let keyExpired = "keyExpired"
        /// The key is right and unused, but for another app than the request names.
        package static let wrongApplication = "wrongApplication"
        /// The key is right and unused, but its user is not entitled to the version that the request names.
        package static let versionNotEntitled = "versionNotEntitled"
    }

    /// The body of every error response: `{"error":{"code","name","message"}}`.
    package struct Failure: Sendable, Hashable, Codable {
        package struct Details: Sendable, Hashable, Codable {
            /// The numeric result code.
            package var code: Int
            package var name: String
            package var message: String
        }
        package var error: Details
        /// In a refusal with status 409: the newest epoch that the instance has reported as stored.
        package var stored: Int64?

        package init(code: Int, name: String, message: String, stored: Int64? = nil) {
            error = Details(code: code, name: name, message: message)
            self.stored = stored
        }
    }
}

/// A hint on the event stream: it says that something changed, but not what.
package struct ControlEvent: Sendable, Hashable {
    /// `event` of the server-sent event.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The configuration has a new epoch.
        case configuration
        /// Events may have been missed: fetch the configuration.
        case resync
        /// A newer stream replaces this one: do not reconnect for a minute.
        case replaced
    }

    /// How often the gateway sends a comment if there is no event.
    package static let heartbeatSeconds = 2

    package var kind: Kind
    /// For `Last-Event-ID`, unique within the instance.
    package var id: UInt64?
    /// The epoch to which the hint refers.
    package var epoch: Int64?

    package init(_ kind: Kind, id: UInt64? = nil, epoch: Int64? = nil) {
        self.kind = kind
        self.id = id
        self.epoch = epoch
    }

    private struct Payload: Codable { var epoch: Int64? }

    /// Nil for an unknown kind of event: kinds may be added.
    package init?(_ event: ServerSentEvent) {
        guard let kind = Kind(rawValue: event.type) else { return nil }
        self.kind = kind
        id = event.id.flatMap { UInt64($0) }
        epoch = try? WireJSON.decode(Payload.self, from: Array(event.data.utf8), limit: 1024).epoch
    }

    package var serverSentEvent: ServerSentEvent {
        let data = (try? WireJSON.encode(Payload(epoch: epoch))) ?? Array("{}".utf8)
        return ServerSentEvent(type: kind.rawValue, data: String(decoding: data, as: UTF8.self), id: id.map { "\($0)" })
    }
}
