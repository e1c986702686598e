internal import HTTPTypes
package import SallyportCore

/// What a session would do with a request now, and why. Finding this out opens no connection, sends nothing and changes
/// nothing.
///
/// Decisions that depend on the server's response, such as redirects and challenges, are not included.
public struct LoadExplanation: Sendable, Hashable, Codable, CustomStringConvertible {
    /// One thing that is decided before the request is sent; kinds and values are those of ``LoadRecord/Decision``.
    public struct Decision: Sendable, Hashable, Codable {
        /// What was decided.
        public var kind: LoadRecord.Decision.Kind
        /// The result, in the form that ``kind`` describes.
        public var value: String
        /// Why, in the form that ``kind`` describes; nil if there is nothing to say.
        public var reason: String?
    }

    /// The request's HTTP method, such as `GET`.
    public var method: String
    /// The URL without user, query and fragment.
    public var url: String
    /// What handles the request: `http`, or the name of a plugin's type. Nil if nothing does.
    public var handler: String?
    /// The decisions in the order in which the request meets them.
    public var decisions: [Decision] = []
    /// The cluster of relays; nil for a direct connection.
    public var cluster: String?
    /// The cluster that is used while no relay of ``cluster`` can be reached; nil for none.
    public var secondary: String?
    /// The TLS versions that the server is offered, such as `TLS1.2`; empty for plain http. Lower versions are offered
    /// only after a failed handshake.
    public var tlsVersions: [String] = []
    /// The authentication schemes with which a challenge could be answered, in alphabetical order.
    public var schemes: [String] = []
    /// Why the request would not be sent; nil if it would.
    public var refusal: LoadRecord.Failure?
    /// ``refusal`` in words.
    public var refusalText: String?

    package init(_ request: LoadRequest) {
        method = request.method.rawValue
        url = request.url.redacted
    }

    package mutating func decided(
        _ kind: LoadRecord.Decision.Kind, _ value: String, because reason: String? = nil
    ) {
        decisions.append(Decision(kind: kind, value: value, reason: reason))
    }

    /// A name without a domain was completed.
    package mutating func completed(_ url: RequestURL) {
        self.url = url.redacted
        decided(.name, url.endpoint?.host.description ?? "", because: "default domain")
    }

    package mutating func refused(_ error: LoadError) {
        refusal = LoadRecord.Failure(error)
        refusalText = error.message
    }

    /// One line for each decision.
    public var description: String {
        var lines = ["\(method) \(url)"]
        lines.append("handler: \(handler ?? "none")")
        lines += decisions.map { one in "\(one.kind.rawValue): \(one.value)" + (one.reason.map { " (\($0))" } ?? "") }
        if let secondary { lines.append("secondary: \(secondary)") }
        if !tlsVersions.isEmpty { lines.append("tls: \(tlsVersions.joined(separator: ", "))") }
        if !schemes.isEmpty { lines.append("schemes: \(schemes.joined(separator: ", "))") }
        if let refusal { lines.append("refused: \(refusal.code): \(refusalText ?? "")") }
        return lines.joined(separator: "\n")
    }
}
