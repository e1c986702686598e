internal import Logging
internal import SallyportCore
internal import SallyportSocketDiagnosis

/// Judges the tunnels of a foreign relay by a policy, at each CONNECT and again when the policy changes, and ends those
/// that are no longer allowed by destroying the clients' connections to the relay.
///
/// An actor, since all questions share the table of tunnels. A question is judged and its tunnel entered without a
/// suspension between the two, so that a change of the policy finds either the tunnel or a question that comes after
/// it.
package actor RelayGuard {
    /// Ends a connection.
    typealias Ending =
        @Sendable (_ sockets: inout SocketDiagnosis, _ connection: TCPConnection) throws(SocketDiagnosisError) -> Void

    /// How often it is looked for tunnels that have ended.
    static let interval: Duration = .seconds(5)
    /// The most rounds in which connections are ended that come while others are ended.
    private static let rounds = 16
    /// So many tunnels are gone through before a question may be judged in between.
    private static let turn = 256

    private let policy: any RelayPolicy
    /// Where the relay listens; nil if no tunnels are ended.
    private let port: UInt16?
    private let audit: AuditRecorder
    private let logger: Logger
    private var sockets: SocketDiagnosis
    private let ending: Ending
    private var table: TunnelTable
    private var isEnding = false
    private let changes: AsyncStream<Void>
    private nonisolated let changed: AsyncStream<Void>.Continuation

    /// - Parameters:
    ///   - port: where the relay listens for TLS; connections at other ports are never ended. Nil to judge new tunnels
    ///     only.
    ///   - maximumTunnels: of one instance.
    ///   - ending: ends the connection of a tunnel.
    init(
        policy: any RelayPolicy, endingTunnelsAt port: UInt16?, maximumTunnels: Int,
        audit: AuditRecorder = .keepsNothing, logger: Logger, ending: @escaping Ending = RelayGuard.destroy
    ) throws(GatewayError) {
        self.policy = policy
        self.port = port
        self.ending = ending
        self.audit = audit
        self.logger = logger
        table = TunnelTable(perInstance: maximumTunnels)
        (changes, changed) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        do { sockets = try SocketDiagnosis() } catch {
            throw GatewayError(.internalFailure, "The kernel answers no question about sockets: \(error).")
        }
    }

    private static func destroy(
        _ sockets: inout SocketDiagnosis, _ connection: TCPConnection
    ) throws(SocketDiagnosisError) {
        try sockets.destroy(connection)
    }

    var tunnelCount: Int { table.tunnels.count }

    /// Whether tunnels may stay open that the policy no longer allows: none are ended here, or one could not be.
    var leavesTunnelsOpen: Bool { port == nil || table.hasUnended }

    /// Judges the open tunnels again, within a second. Call it when the policy already uses the new rules.
    package nonisolated func policyChanged() { changed.yield() }
}

// MARK: Questions

extension RelayGuard {
    func answer(_ question: GuardQuestion) async -> GuardAnswer {
        let client = policy.client(presenting: question.certificate)
        let answer = await judge(question, of: client)
        audit.judged(client?.instance, question.target, answer)
        return answer
    }

    private func judge(_ question: GuardQuestion, of client: (any RelayClient)?) async -> GuardAnswer {
        if isEnding { return .unavailable("The guard ends.") }
        if let port, question.ends.local.port != port {
            return .failed("The relay asks for port \(question.ends.local.port), but --guard-port is \(port).")
        }
        guard let client else { return .refused("The certificate is not accepted.") }
        var verdict = client.decide(question.target)
        if verdict == .unknown {
            // Another gateway may have issued it a moment ago.
            let isCaughtUp = await client.catchUp()
            if isEnding { return .unavailable("The guard ends.") }
            verdict = client.decide(question.target)
            if verdict == .unknown, !isCaughtUp {
                return .unavailable("The guard cannot look the certificate up now.")
            }
        }
        let judgement = RelayJudgement(verdict, of: question.target)
        guard case .allowed(let instance) = judgement, port != nil else { return judgement.answer }
        return enter(question, of: client, instance)
    }

    private func enter(_ question: GuardQuestion, of client: any RelayClient, _ instance: String) -> GuardAnswer {
        let found: TCPConnection?
        do { found = try sockets.connection(question.ends) } catch {
            return .failed("The kernel does not say whether the connection is there: \(error).")
        }
        // What is not found now could not be ended later.
        guard let found else {
            return .failed("The kernel knows no such connection: guard and relay share a network namespace.")
        }
        let tunnel = GuardedTunnel(client: client, target: question.target, instance: instance, connection: found)
        return table.add(tunnel).map { .refused($0) } ?? .allowed(instance: instance)
    }
}

// MARK: Open tunnels

extension RelayGuard {
    /// Ends the connections that the relay has already: with whose certificate they were opened is not known.
    ///
    /// - Throws: `forbidden` if this process may not end connections.
    func start() throws(GatewayError) {
        guard let port else { return }
        do throws(SocketDiagnosisError) {
            try sockets.tryDestroying()
            let ended = try endAll(at: port)
            guard ended > 0 else { return }
            logger.notice(
                "A foreign relay's connections were ended, since it is not known whose they are.",
                metadata: ["connections": "\(ended)", "port": "\(port)"])
        } catch {
            throw Self.failure(error)
        }
    }

    private static func failure(_ error: SocketDiagnosisError) -> GatewayError {
        if error.isNotPermitted {
            return GatewayError(
                .forbidden,
                "A guard ends connections, for which it needs the capability CAP_NET_ADMIN: add it or give --no-destroy."
            )
        }
        if error.isNotSupported {
            return GatewayError(
                .forbidden,
                "A guard ends connections, which this kernel cannot (CONFIG_INET_DIAG_DESTROY): give --no-destroy.")
        }
        return GatewayError(.internalFailure, "A guard cannot end connections: \(error).")
    }

    /// Lists and ends until a list is empty: a list may miss a connection while others come and go.
    private func endAll(at port: UInt16) throws(SocketDiagnosisError) -> Int {
        var ended = 0
        for _ in 0..<Self.rounds {
            let found = try sockets.connections(at: port)
            if found.isEmpty { break }
            for connection in found {
                if try sockets.destroy(connection) { ended += 1 }
            }
        }
        return ended
    }

    /// Follows the policy until the task is cancelled, and then ends all tunnels, which nothing would judge any more.
    func run() async {
        guard port != nil else { return await untilCancelled() }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in self.changes { await self.reconsider() } }
            group.addTask {
                while (try? await Task.sleep(for: Self.interval)) != nil { await self.forgetEnded() }
            }
            await group.waitForAll()
        }
        isEnding = true
        for tunnel in table.tunnels.values { end(tunnel, .shutdown, because: "The guard ends.") }
    }

    private func untilCancelled() async { for await _ in changes {} }

    /// Judges every open tunnel by the present policy.
    func reconsider() async {
        await forEach { guardian, tunnel in
            let judgement = RelayJudgement(tunnel.client.reconsider(tunnel.target), of: tunnel.target)
            // Noted again if it cannot be ended.
            guardian.table.note(tunnel, isUnended: false)
            if let reason = judgement.refusal { guardian.end(tunnel, .withdrawn, because: reason) }
        }
    }

    /// Forgets the tunnels that ended by themselves.
    func forgetEnded() async {
        await forEach { guardian, tunnel in
            guard (try? guardian.sockets.isThere(tunnel.connection)) == false else { return }
            if guardian.table.remove(tunnel) { guardian.audit.ended(tunnel, .ended) }
        }
    }

    private func forEach(_ body: (isolated RelayGuard, GuardedTunnel) -> Void) async {
        for (index, tunnel) in Array(table.tunnels.values).enumerated() {
            body(self, tunnel)
            if index % Self.turn == Self.turn - 1 { await Task.yield() }
        }
    }

    /// A tunnel that cannot be ended stays in the table, and is tried again with the next change.
    private func end(_ tunnel: GuardedTunnel, _ result: Tunnel.Result, because reason: String) {
        do { try ending(&sockets, tunnel.connection) } catch {
            table.note(tunnel, isUnended: true)
            return logger.error(
                "A foreign relay's tunnel cannot be ended.",
                metadata: ["instance": "\(tunnel.instance)", "error": "\(error)"])
        }
        if table.remove(tunnel) { audit.ended(tunnel, result) }
        logger.info(
            "A foreign relay's tunnel was ended.",
            metadata: ["instance": "\(tunnel.instance)", "target": "\(tunnel.target)", "reason": "\(reason)"])
    }
}
