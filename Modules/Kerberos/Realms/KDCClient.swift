internal import CKerberos
internal import SallyportBase
package import SallyportCore
internal import SallyportLoading

/// Sends messages to the KDCs of realms and returns the answers: TCP, each message after its length (RFC 4120 §7.2.2),
/// through the session's tunnels, which ask the policy. One connection for each message.
struct KDCClient: Sendable {
    /// The longest answer, in bytes. A ticket with the groups of a large domain takes about 64 KiB.
    static let maximumAnswer = 256 << 10
    /// The time limit of a ticket: for all messages that it needs, to all KDCs of all realms.
    static let timeout = Duration.seconds(30)

    let tunnels: any RoutedTunnels
    let realms: RealmServers
    private let timeout: Duration
    /// A KDC of MIT Kerberos drops the oldest connection beyond 45, and serves other clients too.
    private let slots = RealmSlots(limit: 16)
    private let answering = AnsweringKDCs()

    init(tunnels: any RoutedTunnels, realms: RealmServers, timeout: Duration = Self.timeout) {
        self.tunnels = tunnels
        self.realms = realms
        self.timeout = timeout
    }

    /// When a ticket that is requested now must be there.
    var deadline: ContinuousClock.Instant { .now + timeout }

    /// The first answer of a KDC that serves; if none does, what the last one said that answered at all.
    ///
    /// - Parameter deadline: of the ticket for which the message is sent. After it, none is sent.
    /// - Throws: ``KerberosError/Code-swift.struct/kdcUnreachable``, with the last KDC's failure.
    func answer(
        to message: [UInt8], of realm: String, until deadline: ContinuousClock.Instant
    ) async throws(KerberosError) -> [UInt8] {
        // In its turn, and within the time limit.
        let result = await untilDeadline(deadline) { () -> Result<[UInt8], LoadError> in
            guard await self.slots.enter(realm, until: deadline) else { return .failure(Self.late) }
            let answer = await self.attempt(message, realm, until: deadline)
            await self.slots.leave(realm)
            return answer
        }
        switch Task.isCancelled ? .failure(.cancelled()) : result ?? .failure(Self.late) {
        case .success(let answer): return answer
        case .failure(let error):
            throw KerberosError(.kdcUnreachable, "No KDC of the realm \(realm) answered: \(error)", underlying: error)
        }
    }

    private func attempt(
        _ message: [UInt8], _ realm: String, until deadline: ContinuousClock.Instant
    ) async -> Result<[UInt8], LoadError> {
        let order: KDCOrder
        do throws(LoadError) {
            order = try await answering.ordered(realms.servers(of: realm), of: realm)
        } catch {
            return .failure(error)
        }
        var last = LoadError(.cannotFindHost, at: .routing, "The realm is not listed, and is not a host name.")
        // For krb5, which names the error if no other KDC has a better answer.
        var useless: [UInt8]?
        for (index, server) in order.servers.enumerated() {
            let share = order.share(of: deadline - .now, at: index)
            switch await exchange(message, with: server, until: .now + share) {
            case .success(let answer) where Self.isServed(answer):
                await answering.answered(server, of: realm)
                return .success(answer)
            case .success(let answer): useless = answer
            case .failure(let error): last = error
            }
            if Task.isCancelled { return .failure(.cancelled()) }
            await answering.failed(server, of: realm)
            if [.notAuthorized, .withdrawn].contains(last.code) { return .failure(last) }
        }
        if let useless { return .success(useless) }
        return .failure(last)
    }

    private static func isServed(_ answer: [UInt8]) -> Bool {
        unsafe answer.withUnsafeBufferPointer { answer in unsafe sk_is_served(answer.baseAddress, answer.count) != 0 }
    }

    private func exchange(
        _ message: [UInt8], with server: Endpoint, until deadline: ContinuousClock.Instant
    ) async -> Result<[UInt8], LoadError> {
        let result = await untilDeadline(deadline) { await self.exchange(message, with: server) }
        if Task.isCancelled { return .failure(.cancelled()) }
        return result ?? .failure(Self.late)
    }

    private static var late: LoadError {
        LoadError(.idleTimeout, at: .response, "The KDC did not answer in its time.")
    }

    private func exchange(_ message: [UInt8], with server: Endpoint) async -> Result<[UInt8], LoadError> {
        do throws(LoadError) {
            let tunnel = try await tunnels.open(RoutedTunnelRequest(to: server))
            defer { tunnel.close() }
            try await tunnel.write(Self.framed(message))
            var answer = AnswerReader(limit: Self.maximumAnswer)
            while true {
                guard let bytes = try await tunnel.read() else {
                    throw LoadError(.connectionLost, at: .response, "The KDC ended the connection without an answer.")
                }
                if let whole = try answer.receive(bytes) { return .success(whole) }
            }
        } catch {
            return .failure(error)
        }
    }

    static func framed(_ message: [UInt8]) -> [UInt8] {
        UInt32(message.count).bigEndianBytes + message
    }
}

/// Assembles one answer from received bytes.
package struct AnswerReader: Sendable {
    private let limit: Int
    private var bytes: [UInt8] = []

    package init(limit: Int) { self.limit = limit }

    /// - Returns: the answer once it is complete.
    /// - Throws: `responseTooLarge` before more than the limit is taken in; `protocolViolation` for an empty answer.
    package mutating func receive(_ more: [UInt8]) throws(LoadError) -> [UInt8]? {
        bytes += more
        guard bytes.count >= 4 else { return nil }
        // The first bit is reserved for extensions (RFC 4120 §7.2.2), none of which is supported.
        let count = Int(UInt32(bigEndianBytes: bytes.prefix(4)))
        guard count > 0 else { throw LoadError(.protocolViolation, at: .response, "The KDC's answer is empty.") }
        guard count <= limit else {
            throw LoadError(.responseTooLarge, at: .response, "A KDC's answer has at most \(limit) bytes.")
        }
        guard bytes.count >= 4 + count else { return nil }
        return Array(bytes[4..<4 + count])
    }
}
