internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading
internal import Synchronization

/// One load's three messages, or none over a connection on which the server knows the user.
///
/// The load asks for one thing after the other; another task may send its requests. So what changes does so once, and
/// nothing of it must agree with anything else.
final class NTLMDialogue: ConnectionDialogue {
    private enum Leg: Sendable {
        /// The server knows the user of the connection with this number.
        case known(UInt64)
        case negotiate
        /// The last message answers a challenge over the connection with this number.
        case authenticate(Redacted<String>, UInt64)
        /// No authentication is needed.
        case whole
    }

    private let exchange: NTLMExchange
    private let connection: BoundConnection
    private let hasBody: Bool
    private let surroundings: NTLMScheme.Surroundings
    private let first: Leg
    /// What follows a first message.
    private let next = SetOnce<Leg>()
    private let isSent = Atomic(false)
    /// Taken by the answer's body.
    private let lease: TakenOnce<ConnectionLease>
    /// The connection of the last answer, if that was a 304: the load may send another request after it.
    private let confirmed = Latest<UInt64?>()

    private var leg: Leg { next.value ?? first }

    init(
        _ exchange: NTLMExchange, over lease: ConnectionLease, hasBody: Bool, in surroundings: NTLMScheme.Surroundings
    ) {
        self.exchange = exchange
        self.hasBody = hasBody
        self.surroundings = surroundings
        connection = lease.connection
        first = lease.known.map(Leg.known) ?? .negotiate
        self.lease = TakenOnce(lease)
    }

    deinit { letGo() }

    /// The connection is kept if it was not used, since the answer came from elsewhere, and if its last answer was
    /// a 304.
    func letGo() {
        guard let lease = lease.take() else { return }
        if case .known(let number) = leg, !isMade { return lease.keep(as: number) }
        guard let number = confirmed.value ?? nil, lease.credential.persistence != .none else { return }
        lease.keep(as: number)
    }

    // MARK: Requests

    var use: ConnectionUse {
        switch leg {
        case .known(let number): ConnectionUse(connection, required: number)
        case .negotiate: ConnectionUse(connection, isLeg: true)
        case .authenticate(_, let number): ConnectionUse(connection, required: number)
        case .whole: ConnectionUse(connection)
        }
    }

    /// The app's body is not sent before the server can know the user.
    var isBodyless: Bool { if case .negotiate = leg { hasBody } else { false } }

    func make() -> Redacted<String>? {
        confirmed.set(nil)
        switch leg {
        case .known:
            isSent.store(true, ordering: .relaxed)
            return nil
        case .negotiate: return Redacted(NTLMToken.field(NTLMExchange.negotiate))
        case .authenticate(let field, _):
            isSent.store(true, ordering: .relaxed)
            return field
        case .whole: return nil
        }
    }

    var isMade: Bool { isSent.load(ordering: .relaxed) }

    // MARK: Answers

    func goesOn(with offered: OfferedScheme, over connection: ConnectionFacts?) -> Bool {
        guard case .negotiate = leg, let connection, let number = connection.number,
            let token = offered.token68.flatMap(NTLMToken.bytes),
            let message = exchange.authenticate(
                answering: token, binding: connection.channelBinding, nonce: surroundings.nonce(),
                time: surroundings.time())
        else { return false }
        next.set(.authenticate(Redacted(NTLMToken.field(message)), number))
        return true
    }

    func mustSendWhole() -> Bool {
        guard isBodyless else { return false }
        next.set(.whole)
        return true
    }

    /// The server no longer knows the connection's user, but has not refused the user.
    func isOutdated(by offered: OfferedScheme) -> Bool {
        if case .known = leg { true } else { false }
    }

    func accepted(by response: LoadResponse, wasAsked: Bool) throws(LoadError) -> LoadResponse {
        let number = response.facts.hops.last?.connection.number
        guard response.head.status != .notModified else {
            confirmed.set(number)
            return response
        }
        guard let lease = lease.take(), let number, lease.credential.persistence != .none else { return response }
        var response = response
        response.body = ResponseBody(LeasedBody(response.body, over: lease, number: number))
        return response
    }
}
