internal import SallyportWire

/// A metric of the gateway. Docs/Monitoring.md lists all of them, which a test compares.
struct MetricDescription: Sendable {
    let name: String
    let help: String
    /// The labels, and all values of each that exist from the start. None names an instance, a user or a host.
    let labels: [(name: String, values: [String])]

    fileprivate init(_ name: String, _ help: String, _ labels: [(name: String, values: [String])] = []) {
        (self.name, self.help, self.labels) = (name, help, labels)
    }
}

// MARK: Tunnels

extension MetricDescription {
    static let tunnels = gateway("tunnels", "Tunnels that are open or being opened.")
    static let connects = gateway(
        "connects_total", "CONNECT requests by verdict: opened, or the error type of RFC 9209 told to the client.",
        [("verdict", ["opened"] + refusals)])
    static let tunnelsEnded = gateway(
        "tunnels_ended_total", "Tunnels that ended, by the reason that the log names.",
        [("reason", ["ended", "withdrawn", "idle", "shutdown", "client-failed", "server-failed"])])
    static let relayedBytes = gateway(
        "relayed_bytes_total", "Bytes carried by tunnels: up from clients to servers, down the other way.",
        [("direction", ["up", "down"])])
    static let dial = gateway(
        "dial_seconds", "Time from an allowed CONNECT to the connection with the server, or to its failure.",
        [("outcome", ["connected", "failed"])])
    static let policyChange = gateway(
        "policy_change_seconds", "Time from the commit of a change until all open tunnels were judged by it.")

    private static let refusals = [
        ProxyStatus.ErrorType.requestDenied, ProxyStatus.ErrorType.requestError, ProxyStatus.ErrorType.dnsError,
        ProxyStatus.ErrorType.dnsTimeout, ProxyStatus.ErrorType.destinationIPProhibited,
        ProxyStatus.ErrorType.destinationIPUnroutable, ProxyStatus.ErrorType.destinationUnavailable,
        ProxyStatus.ErrorType.connectionRefused, ProxyStatus.ErrorType.connectionTimeout,
        ProxyStatus.ErrorType.connectionLimitReached, ProxyStatus.ErrorType.proxyInternalError,
    ]
}

// MARK: Connections and requests

extension MetricDescription {
    static let connections = gateway("connections", "Connections that are open.", [("listener", listeners)])
    static let unauthenticated = gateway(
        "unauthenticated_connections", "Open connections whose peer has shown no certificate of an active instance.")
    static let accepted = gateway("connections_accepted_total", "Accepted connections.", [("listener", listeners)])
    static let refused = gateway(
        "connections_refused_total",
        "Connections closed by a limit: no descriptor was left, the instance had as many as it may, the connection was "
            + "an unauthenticated one that gave way to a newer one, or its client had lost its standing.",
        [("listener", listeners), ("reason", ["descriptors", "instance-limit", "gave-way", "lost-standing"])])
    static let handshakeFailures = gateway(
        "handshake_failures_total", "TLS handshakes that took too long, failed, or were left by the peer.",
        [("listener", ["control", "relay"]), ("reason", ["late", "failed", "left"])])
    static let requests = gateway(
        "requests_total", "Requests to the control port by result: done, or the reason of the refusal or failure.",
        [("operation", operations), ("result", results)])
    static let verifications = gateway(
        "token_verifications_total", "Verified auth tokens by verdict.",
        [("verdict", AuthTokenAPI.Verdict.allCases.map { "\($0)" })])
    static let eventStreams = gateway("event_streams", "Event streams that are open.")

    /// An alert on the increase of a series sees its first event only if the series was there before.
    private static let results =
        ["done", "behind", "aborted", "failed"]
        + [
            GatewayError.Code.limited, .unauthorized, .forbidden, .expired, .retired, .locked, .keyUsed, .keyExpired,
            .wrongApplication, .versionNotEntitled, .invalid, .unreachable, .store, .internalFailure,
        ].map(\.description)
    private static let listeners = GatewayListener.allCases.map(\.rawValue)
    private static let operations = ControlOperation.allCases.map(\.rawValue)
}

// MARK: State

extension MetricDescription {
    static let instances = gateway(
        "instances", "Instances by status.", [("status", ["active", "blocked", "locked", "wiped", "denied"])])
    static let certificateEnds = certificateEnd(["authority", "server", "signer"])
    static let relayCertificateEnds = certificateEnd(["feed", "server"])
    static let feedRevision = MetricDescription(
        "sallyport_relay_feed_revision", "The fleet's revision that is in force here, for open tunnels too.")
    static let feedLease = MetricDescription(
        "sallyport_relay_lease_seconds",
        "How long the relay goes on without word from a control gateway; 0 if it refuses.")
    static let feedGateways = MetricDescription(
        "sallyport_relay_feed_gateways", "Control gateways that are followed now: 2 if there are so many.")

    private static func certificateEnd(_ names: [String]) -> MetricDescription {
        gateway(
            "certificate_expiry_timestamp_seconds", "When the gateway's own certificates end, in seconds since 1970.",
            [("certificate", names)])
    }
    static let revision = gateway(
        "store_revision", "The revision of the policy that is in force here: the same at all gateways of a fleet.")
    static let storeSize = gateway("store_size_bytes", "Size of the store's data file.")
    static let storeUsed = gateway("store_used_bytes", "The part of the store's data file that is in use.")
    static let diskFree = gateway("disk_free_bytes", "Space left in the file system of the data directory.")
    static let health = partHealth(["store", "relay", "control"])
    static let relayHealth = partHealth(["relay", "feed"])
    static let guardHealth = partHealth(["guard", "feed"])

    private static func partHealth(_ parts: [String]) -> MetricDescription {
        gateway("health", "1 while a part of the gateway is ready, 0 while it is not.", [("part", parts)])
    }

    static let residentMemory = MetricDescription("process_resident_memory_bytes", "Resident memory of the process.")
    static let processorTime = MetricDescription("process_cpu_seconds_total", "Processor time of the process.")
    static let openDescriptors = MetricDescription("process_open_fds", "Open descriptors of the process.")
    static let descriptorLimit = MetricDescription("process_max_fds", "Descriptors that the process may have.")
    static let processStart = MetricDescription(
        "process_start_time_seconds", "When the process started, in seconds since 1970.")
}

extension MetricDescription {
    /// Of a gateway of the roles control and both.
    static let all =
        [
            tunnels, connects, tunnelsEnded, relayedBytes, dial, policyChange, connections, unauthenticated, accepted,
            refused, handshakeFailures, requests, verifications, eventStreams, instances, certificateEnds, revision,
            storeSize, storeUsed, diskFree, health,
        ] + process
    /// Of a relay on a machine of its own.
    static let relay =
        [connects, tunnelsEnded, relayedBytes, dial, handshakeFailures, relayHealth] + following + process
    /// Of a guard on a machine without a gateway.
    static let guarding = [guardHealth] + following + process

    private static let following = [
        tunnels, connections, unauthenticated, accepted, refused, relayCertificateEnds, feedRevision, feedLease,
        feedGateways,
    ]
    private static let process = [residentMemory, processorTime, openDescriptors, descriptorLimit, processStart]

    private static func gateway(
        _ name: String, _ help: String, _ labels: [(name: String, values: [String])] = []
    ) -> MetricDescription {
        MetricDescription("sallyport_gateway_" + name, help, labels)
    }

    /// All series that exist from the start: each combination of the labels' values.
    var combinations: [[String]] {
        labels.reduce([[]]) { made, label in made.flatMap { row in label.values.map { row + [$0] } } }
    }

    func dimensions(_ values: [String]) -> [(String, String)] { zip(labels, values).map { ($0.name, $1) } }
}
