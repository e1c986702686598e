/// The listeners of a gateway, as metrics name them.
enum GatewayListener: String, Sendable, Hashable, CaseIterable {
    case control, relay, verification, metrics

    /// How long a connection may last altogether; nil if only its requests are limited.
    ///
    /// A client of the metrics has one request on each connection: one that does not read its answer is gone after this
    /// time, whatever it does.
    var lifetime: Duration? { self == .metrics ? .seconds(20) : nil }

    /// Whether a connection ends with the answer to its first request.
    var hasOneRequest: Bool { self == .metrics }
}
