internal import HTTPTypes
internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading

/// Which relays are asked whether they are there, and which have said so. A value.
struct RelaySuspicions {
    /// For how long a relay that has answered is not asked again: the server behind it takes its time.
    static let proof = Duration.seconds(10)

    private var asked: Set<Endpoint> = []
    private var proved: [Endpoint: LoopInstant] = [:]
    private(set) var number: UInt64 = 0

    /// - Returns: whether the relay is to be asked now.
    mutating func begin(_ relay: Endpoint, at now: LoopInstant) -> Bool {
        proved = proved.filter { now < $0.value }
        guard proved[relay] == nil, asked.insert(relay).inserted else { return false }
        number += 1
        return true
    }

    mutating func end(_ relay: Endpoint, isThere: Bool, at now: LoopInstant) {
        asked.remove(relay)
        if isThere { proved[relay] = now.advanced(by: Self.proof) }
    }
}

extension TransportEngine {
    /// How long a relay may take to answer the question.
    private static var answerLimit: Duration { .milliseconds(1500) }

    /// A request through this relay waits for its answer. Either the server takes its time, or the relay is there no
    /// longer, which the kernel of a machine that is gone, or of a process that hangs, does not tell.
    func suspect(_ relay: Endpoint, of access: RelayAccess) {
        guard suspicions.begin(relay, at: .now) else { return }
        let number = suspicions.number
        // Unstructured: the loop cannot await a child task. It ends within its limit. See Docs/Concurrency.md.
        Task {
            let isThere = await answers(relay, of: access, number: number)
            suspicions.end(relay, isThere: isThere, at: .now)
            guard !isThere else { return }
            access.failover.failed(relay)
            for pool in allPools where pool.configuration.path.relay == access { pool.abandon(relay) }
        }
    }

    /// Whether a relay answers over a new connection, whatever its answer is.
    private func answers(_ relay: Endpoint, of access: RelayAccess, number: UInt64) async -> Bool {
        guard let url = try? RequestURL("https://\(relay)/") else { return true }
        var request = ExchangeRequest(.get, url)
        (request.connectTimeout, request.deadline) = (Self.answerLimit, .now + Self.answerLimit)
        request.protocols = .http1Only
        let path = ConnectionPath(
            trust: .gateway(access.authorities), identity: access.identity,
            partition: ConnectionPartition(.relayQuestion(number)))
        defer { post(.retire { $0.partition == path.partition }) }
        guard let exchange = try? ExchangeHandle(request, to: relay, engine: self) else { return true }
        // SAFETY: `ExchangeCaller` says by what it is resumed.
        let answer = await unsafe withUnsafeContinuation { continuation in
            start(exchange, via: path, answering: unsafe ExchangeCaller(continuation), mayWait: false)
        }
        switch answer {
        case .response(let response):
            response.body.discard()
            return true
        case .failed(let failure): return !failure.saysThatNothingIsThere
        case .expectationRefused: return true
        }
    }
}

extension LoadError {
    fileprivate var saysThatNothingIsThere: Bool {
        let isConnecting = [.routing, .nameLookup, .connect, .serverTLS, nil].contains(step)
        let isSilence =
            [.cannotConnect, .cannotFindHost, .connectionLost, .idleTimeout, .resourceTimeout].contains(code)
        return isConnecting && isSilence
    }
}
