package import SallyportWire

/// A message for negotiating a mechanism (RFC 4178 §4.2).
package enum SPNEGOToken: Sendable, Hashable {
    case offer(SPNEGOOffer)
    case answer(SPNEGOAnswer)

    package init(parsing bytes: [UInt8]) throws(WireError) {
        guard bytes.count <= GSSToken.maximumLength else {
            throw WireError(.tooLarge, "A token of SPNEGO has at most \(GSSToken.maximumLength) bytes.")
        }
        guard bytes.first == 0x60 else {
            self = .answer(try SPNEGOAnswer(parsing: DERReader.only(0xa1, in: bytes[...])))
            return
        }
        let token = try GSSToken(parsing: bytes)
        guard token.mechanism == .negotiation else { throw WireError(.unsupported, "The token is not SPNEGO.") }
        self = .offer(try SPNEGOOffer(parsing: DERReader.only(0xa0, in: token.contents[...])))
    }

    package var serialized: [UInt8] {
        switch self {
        case .offer(let offer): GSSToken(.negotiation, DERWriter.element(0xa0, offer.contents)).serialized
        case .answer(let answer): DERWriter.element(0xa1, answer.contents)
        }
    }
}

/// NegTokenInit (§4.2.1): the initiator's mechanisms, the preferred one first, with a token of that one. Request flags,
/// which are not protected, are neither sent nor read.
package struct SPNEGOOffer: Sendable, Hashable {
    package static let maximumMechanisms = 32

    package var mechanisms: [GSSMechanism]
    package var token: [UInt8]?
    package var listCode: [UInt8]?

    package init(_ mechanisms: [GSSMechanism], token: [UInt8]?, listCode: [UInt8]? = nil) {
        self.mechanisms = mechanisms
        self.token = token
        self.listCode = listCode
    }

    /// The input of a `mechListMIC`: the list in DER (§5).
    package var list: [UInt8] { DERWriter.element(0x30, mechanisms.flatMap(\.element)) }

    init(parsing bytes: ArraySlice<UInt8>) throws(WireError) {
        var reader = DERReader(try DERReader.only(0x30, in: bytes))
        var list = DERReader(try DERReader.only(0x30, in: reader.element(0xa0)))
        mechanisms = []
        while !list.isAtEnd {
            guard mechanisms.count < Self.maximumMechanisms else {
                throw WireError(.tooLarge, "At most \(Self.maximumMechanisms) mechanisms are offered.")
            }
            mechanisms.append(GSSMechanism(identifier: try GSSToken.identifier(list.element(0x06))))
        }
        guard !mechanisms.isEmpty else { throw WireError(.malformed, "No mechanism is offered.") }
        _ = try reader.optional(0xa1).map { (flags) throws(WireError) in try DERReader.only(0x03, in: flags) }
        token = try reader.bytes(0xa2)
        listCode = try reader.bytes(0xa3)
        guard reader.isAtEnd else { throw WireError(.malformed, "There are bytes after an offer.") }
    }

    var contents: [UInt8] {
        DERWriter.element(
            0x30,
            DERWriter.element(0xa0, list) + SPNEGOAnswer.bytes(0xa2, token) + SPNEGOAnswer.bytes(0xa3, listCode))
    }
}

/// NegTokenResp (§4.2.2): the state of the negotiation.
package struct SPNEGOAnswer: Sendable, Hashable {
    package enum State: UInt8, Sendable, Hashable {
        case completed = 0
        case incomplete = 1
        case rejected = 2
        /// A code over the list of mechanisms is required, since the first mechanism is not used.
        case wantsListCode = 3
    }

    package var state: State?
    package var mechanism: GSSMechanism?
    package var token: [UInt8]?
    package var listCode: [UInt8]?

    package init(
        _ state: State? = nil, mechanism: GSSMechanism? = nil, token: [UInt8]? = nil, listCode: [UInt8]? = nil
    ) {
        self.state = state
        self.mechanism = mechanism
        self.token = token
        self.listCode = listCode
    }

    init(parsing bytes: ArraySlice<UInt8>) throws(WireError) {
        var reader = DERReader(try DERReader.only(0x30, in: bytes))
        if let contents = try reader.optional(0xa0) {
            let value = try DERReader.only(0x0a, in: contents)
            guard value.count == 1, let first = value.first, let state = State(rawValue: first) else {
                throw WireError(.malformed, "The state is unknown.")
            }
            self.state = state
        }
        if let contents = try reader.optional(0xa1) {
            mechanism = GSSMechanism(identifier: try GSSToken.identifier(DERReader.only(0x06, in: contents)))
        }
        token = try reader.bytes(0xa2)
        listCode = try reader.bytes(0xa3)
        guard reader.isAtEnd else { throw WireError(.malformed, "There are bytes after an answer.") }
    }

    var contents: [UInt8] {
        let state = state.map { DERWriter.element(0xa0, DERWriter.element(0x0a, [$0.rawValue])) } ?? []
        let mechanism = mechanism.map { DERWriter.element(0xa1, $0.element) } ?? []
        return DERWriter.element(0x30, state + mechanism + Self.bytes(0xa2, token) + Self.bytes(0xa3, listCode))
    }

    static func bytes(_ tag: UInt8, _ bytes: [UInt8]?) -> [UInt8] {
        bytes.map { DERWriter.element(tag, DERWriter.element(0x04, $0)) } ?? []
    }
}

extension DERReader {
    /// A byte string in its own element, if there is one.
    fileprivate mutating func bytes(_ tag: UInt8) throws(WireError) -> [UInt8]? {
        guard let contents = try optional(tag) else { return nil }
        return Array(try DERReader.only(0x04, in: contents))
    }
}
