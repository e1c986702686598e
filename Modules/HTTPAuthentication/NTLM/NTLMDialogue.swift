internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// One load's three messages, or none over a connection on which the server knows the user.
final class NTLMDialogue: ConnectionDialogue {
    private enum Leg {
        /// The server knows the user of the connection with this number.
        case known(UInt64)
        case negotiate
        /// The last message answers a challenge over the connection with this number.
        case authenticate(Redacted<String>, UInt64)
        /// No authentication is needed.
        case whole
    }

    private struct State {
        var leg: Leg
        var isMade = false
        /// Nil once the answer's body owns it.
        var lease: ConnectionLease?
        /// The facts of the last answer.
        var facts: ConnectionFacts?
    }

    private let exchange: NTLMExchange
    private let connection: BoundConnection
    private let hasBody: Bool
    private let surroundings: NTLMScheme.Surroundings
    private let state: Lock<State>

    init(
        _ exchange: NTLMExchange, over lease: ConnectionLease, hasBody: Bool, in surroundings: NTLMScheme.Surroundings
    ) {
        self.exchange = exchange
        self.hasBody = hasBody
        self.surroundings = surroundings
        connection = lease.connection
        state = Lock(State(leg: lease.known.map(Leg.known) ?? .negotiate, lease: lease))
    }

    deinit { letGo() }

    /// If the answer came from elsewhere, the connection was not used and can be kept.
    func letGo() {
        let (lease, number) = state.withLock { state -> (ConnectionLease?, UInt64?) in
            guard case .known(let number) = state.leg, !state.isMade else { return (state.lease.take(), nil) }
            return (state.lease.take(), number)
        }
        if let number { lease?.keep(as: number) }
    }

    // MARK: Requests

    var use: ConnectionUse {
        switch state.withLock({ $0.leg }) {
        case .known(let number): ConnectionUse(connection, required: number)
        case .negotiate: ConnectionUse(connection, isLeg: true)
        case .authenticate(_, let number): ConnectionUse(connection, required: number)
        case .whole: ConnectionUse(connection)
        }
    }

    /// The app's body is not sent before the server can know the user.
    var isBodyless: Bool { if case .negotiate = state.withLock({ $0.leg }) { hasBody } else { false } }

    func make() -> Redacted<String>? {
        state.withLock { state in
            switch state.leg {
            case .known:
                state.isMade = true
                return nil
            case .negotiate: return Redacted(NTLMToken.field(NTLMExchange.negotiate))
            case .authenticate(let field, _):
                state.isMade = true
                return field
            case .whole: return nil
            }
        }
    }

    var isMade: Bool { state.withLock { $0.isMade } }

    // MARK: Answers

    func heard(_ connection: ConnectionFacts) { state.withLock { $0.facts = connection } }

    func goesOn(with offered: OfferedScheme) -> Bool {
        guard let token = offered.token68.flatMap(NTLMToken.bytes) else { return false }
        let (nonce, time) = (surroundings.nonce(), surroundings.time())
        return state.withLock { state in
            guard case .negotiate = state.leg, let facts = state.facts, let number = facts.number,
                let message = exchange.authenticate(
                    answering: token, binding: facts.channelBinding, nonce: nonce, time: time)
            else { return false }
            state.leg = .authenticate(Redacted(NTLMToken.field(message)), number)
            return true
        }
    }

    func mustSendWhole() -> Bool {
        guard isBodyless else { return false }
        state.withLock { $0.leg = .whole }
        return true
    }

    /// The server no longer knows the connection's user, but has not refused the user.
    func isOutdated(by offered: OfferedScheme) -> Bool {
        if case .known = state.withLock({ $0.leg }) { true } else { false }
    }

    func accepted(by response: LoadResponse, wasAsked: Bool) throws(LoadError) -> LoadResponse {
        let (lease, number) = state.withLock { ($0.lease.take(), $0.facts?.number) }
        guard let lease, let number, lease.credential.persistence != .none else { return response }
        var response = response
        response.body = ResponseBody(LeasedBody(response.body, over: lease, number: number))
        return response
    }
}
