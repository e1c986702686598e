/// The gateway's control plane as both sides write it: paths, media types, bodies.
package enum ControlAPI {
    /// The documented port of control and verification.
    package static let defaultPort: UInt16 = 17433
    /// The documented port of the relay.
    package static let defaultRelayPort: UInt16 = 17533

    package enum Path {
        /// EST (RFC 7030 §3.2.2). No client certificate.
        package static let authorities = "/.well-known/est/cacerts"
        /// EST. No client certificate; Basic credentials.
        package static let enroll = "/.well-known/est/simpleenroll"
        /// EST. The client certificate that is renewed, even one that expired within 30 days.
        package static let reenroll = "/.well-known/est/simplereenroll"
        /// Needs a client certificate. Query: `version`, `stored`, `told`.
        package static let configuration = "/v1/configuration"
        /// Needs a client certificate. Query: `stored`. Reports which configuration the instance's store now holds.
        package static let storedConfiguration = "/v1/stored-configuration"
        /// Client certificate. Server-sent events.
        package static let events = "/v1/events"
        /// Client certificate. DNS over HTTPS (RFC 8484), by POST.
        package static let names = "/dns-query"
        /// No client certificate.
        package static let health = "/health"
    }

    package enum Query {
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

    /// Sizes of bodies, in bytes, beyond which they are not read.
    package enum Limits {
        /// What the control plane takes.
        package static let request = 64 << 10
        package static let certificates = CertificateBag.maximumLength
        package static let configuration = JWS.Limits().document
        package static let error = 4096
        /// Of a query for a name: one question, and what may stand behind it.
        package static let query = 4096
    }

    /// The `name` of a ``Failure`` with status 403, by which enrolment says why it refuses.
    package enum Refusal {
        /// The right key, which was used already.
        package static let keyUsed = "keyUsed"
        /// The right key, which has expired.
        package static let keyExpired = "keyExpired"
    }

    /// The body of every answer that is an error: `{"error":{"code","name","message"}}`.
    package struct Failure: Sendable, Hashable, Codable {
        package struct Details: Sendable, Hashable, Codable {
            /// A documented result code.
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

/// A hint on the event stream: that something changed, never what holds now.
package struct ControlEvent: Sendable, Hashable {
    /// `event` of the server-sent event.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The configuration has a new epoch.
        case configuration
        /// Events may have been missed: fetch the configuration.
        case resync
        /// A newer stream took this one's place: do not come back for a minute.
        case replaced
    }

    /// How often the gateway sends a comment when it has nothing to say.
    package static let heartbeatSeconds = 2

    package var kind: Kind
    /// For `Last-Event-ID`, unique for the instance.
    package var id: UInt64?
    /// The epoch that the hint is about.
    package var epoch: Int64?

    package init(_ kind: Kind, id: UInt64? = nil, epoch: Int64? = nil) {
        self.kind = kind
        self.id = id
        self.epoch = epoch
    }

    private struct Payload: Codable { var epoch: Int64? }

    /// Nil for an event of a kind that this version does not know: hints may be added.
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
