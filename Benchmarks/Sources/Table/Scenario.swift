import Workloads

/// One line of work, done by several peers in turn.
struct Scenario {
    enum Path: String { case direct, relay }

    let name: String
    let file: String
    let isSecure: Bool
    let path: Path
    let total: Int
    let concurrency: Int
    let peers: [Peer]
    let limits: [Limit]
}

/// What a scenario should reach against a peer (Docs/Performance.md).
struct Limit {
    enum Quantity: String {
        /// CPU time per operation, ours over theirs; lower is better.
        case cpu = "CPU per operation"
        /// Octets a second, ours over theirs; higher is better.
        case throughput
        /// Our resident memory over what was idle, in MiB.
        case memory = "memory over idle, MiB"
    }

    let ours: Peer
    let theirs: Peer?
    let quantity: Quantity
    let bound: Double

    static func cpu(_ ours: Peer = .sallyport, of theirs: Peer, atMost bound: Double) -> Limit {
        Limit(ours: ours, theirs: theirs, quantity: .cpu, bound: bound)
    }

    static func throughput(of theirs: Peer, atLeast bound: Double) -> Limit {
        Limit(ours: .sallyport, theirs: theirs, quantity: .throughput, bound: bound)
    }

    static func memory(atMost mebibytes: Double) -> Limit {
        Limit(ours: .sallyport, theirs: nil, quantity: .memory, bound: mebibytes)
    }

    func isReached(_ value: Double) -> Bool { quantity == .throughput ? value >= bound : value <= bound }

    func value(in results: [Peer: Cost]) -> Double? {
        guard let mine = results[ours] else { return nil }
        if quantity == .memory { return Double(mine.memoryGrowth) / 1_048_576 }
        guard let other = theirs.flatMap({ results[$0] }) else { return nil }
        return quantity == .cpu
            ? mine.cpuPerOperation / other.cpuPerOperation : mine.throughput / other.throughput
    }
}

extension Scenario {
    static let all = small + smallOnOtherPaths + bodies

    private static let small = [(1, 4_000), (32, 12_000), (256, 12_000)].map { concurrency, total in
        Scenario(
            name: "small GET, \(concurrency) at once", file: "small", isSecure: false, path: .direct, total: total,
            concurrency: concurrency, peers: Peer.allCases,
            limits: [
                .cpu(of: .asyncHTTPClient, atMost: 0.67), .cpu(of: .urlSession, atMost: 0.15),
                .cpu(of: .curl, atMost: 1.5), .cpu(.sallyportOnLoop, of: .curl, atMost: 1.25),
            ])
    }

    private static let smallOnOtherPaths = [(true, Path.direct), (false, .relay), (true, .relay)].map {
        isSecure, path in
        Scenario(
            name: "small GET, \(isSecure ? "TLS" : "plain"), \(path), 32 at once", file: "small", isSecure: isSecure,
            path: path, total: 12_000, concurrency: 32, peers: peers(isSecure, path),
            limits: path == .direct ? [.cpu(of: .asyncHTTPClient, atMost: 0.67)] : [.cpu(of: .curl, atMost: 2)])
    }

    private static let bodies = [("1m", "1 MiB", 400), ("100m", "100 MiB", 6)].flatMap { file, size, total in
        [(false, Path.direct), (true, .direct), (false, .relay), (true, .relay)].map { isSecure, path in
            Scenario(
                name: "\(size), \(isSecure ? "TLS" : "plain"), \(path)", file: file, isSecure: isSecure, path: path,
                total: total, concurrency: total > 100 ? 4 : 1, peers: peers(isSecure, path),
                limits: bodyLimits(isSecure, path))
        }
    }

    /// AsyncHTTPClient takes no TLS to a proxy, and FoundationNetworking's URLSession neither a proxy nor an
    /// authority of one's own: they stand where they can.
    private static func peers(_ isSecure: Bool, _ path: Path) -> [Peer] {
        if path == .relay { return [.sallyport, .curl] }
        return isSecure ? [.sallyport, .asyncHTTPClient, .curl] : [.sallyport, .asyncHTTPClient, .urlSession, .curl]
    }

    private static func bodyLimits(_ isSecure: Bool, _ path: Path) -> [Limit] {
        var limits = [Limit.throughput(of: .curl, atLeast: 0.9), .memory(atMost: 8)]
        if path == .direct { limits.append(.cpu(of: .asyncHTTPClient, atMost: 1)) }
        if path == .direct, !isSecure { limits.append(.cpu(of: .urlSession, atMost: 1)) }
        return limits
    }
}
