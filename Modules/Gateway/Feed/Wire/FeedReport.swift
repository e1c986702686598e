internal import Foundation
internal import SallyportWire

/// The paths of the feed, on the control port: for a relay's certificate only.
enum FeedAPI {
    /// Query: `echo` and `port`, as in a ``FeedReport``.
    static let feed = "/v1/feed"
    static let applied = "/v1/feed/applied"
    static let audit = "/v1/feed/audit"
    static let certificates = "/v1/feed/certificates"

    /// How often a gateway sends a beat.
    static let beat: Duration = .milliseconds(250)
    /// How long a line may take until the relay has read it; then the relay is cut off.
    static let patience: Duration = .seconds(5)
    /// After this time without a line, a relay takes another gateway.
    static let silence: Duration = .seconds(2)
    /// How often a relay reports at least.
    static let report: Duration = .seconds(1)
    /// How many gateways a relay follows.
    static let senders = 2
}

/// What a relay reports to each control gateway: once a second, and each time that it has applied something.
struct FeedReport: Sendable, Hashable, Codable {
    /// The certificate of an instance that was used here for the first time.
    struct Renewal: Sendable, Hashable, Codable {
        var name: InstanceName
        var serial: String
    }

    /// The most renewals of a report.
    static let renewalLimit = 256

    /// By what the relay judges, and has judged its open tunnels; 0 for nothing.
    var applied: Int64
    /// A number of the relay's, which the next lines repeat.
    var echo: Int64
    /// Where the relay listens; 0 while it refuses everything, so that no app is told of it yet.
    var port: UInt16
    var renewals: [Renewal] = []
    /// Whether the gateway should ask its store for news before it answers.
    var asks = false
    /// Whether tunnels may stay open that are no longer allowed, so that what takes something away is not in force for
    /// them; nil for a relay, which ends them.
    var leavesOpen: Bool?
}

struct FeedReportAnswer: Sendable, Hashable, Codable {
    /// What the gateway has reached.
    var revision: Int64
    /// The renewals of the report that the gateway could not keep, for the relay to report again; nil for none.
    var renewals: [FeedReport.Renewal]?
}

/// A relay asks for certificates for new keys: certificate requests (PKCS #10, DER).
struct RelayCertificateRequest: Sendable, Hashable, Codable {
    /// For the feed.
    var client: Data
    /// For its listener.
    var server: Data
}

struct RelayCertificates: Sendable, Hashable, Codable {
    /// DER.
    var client: Data
    var server: Data
    /// As in ``FeedAuthorities/trust``.
    var trust: [Data]
}
