internal import SallyportCore

/// The challenges and answers of one load with one server or proxy: which challenge is answered next, with what, and when
/// it is enough. A value without I/O, clock or credentials of its own: it says what is to be done, and is told what came of
/// it. ``Negotiator`` carries out.
///
/// A challenge goes its way from ``challenged(by:)`` on: what the last request said is looked at (``Step/examine(_:)``),
/// then a credential is looked for in the order of the offers (``Step/find(_:failureCount:)``), until there is something to
/// say (``Step/say(_:)``) or nothing is left (``Step/end``).
struct Negotiation: Sendable {
    /// A challenge, and the space that it is of.
    struct Offer: Sendable, Hashable {
        let space: ProtectionSpace
        let offered: OfferedScheme
    }

    /// What a request says to a challenge.
    struct Answer: Sendable, Hashable {
        let offer: Offer
        let credential: Credential
        let leg: Leg

        var space: ProtectionSpace { offer.space }
    }

    enum Leg: Sendable, Hashable {
        /// Nobody asked: what the server was told before may hold.
        case unasked
        /// The server has asked, and does not know the user.
        case first
        /// The next one of the same dialogue.
        case next
        /// The first one again, since the connection of the dialogue is gone.
        case afterLoss
    }

    /// What is to be done next.
    enum Step: Sendable, Hashable {
        /// Look at what was said last in the light of this challenge of the same space, where there is one;
        /// ``examined(_:)`` takes what is found.
        case examine(OfferedScheme?)
        /// Tell who keeps credentials that this one was refused, then ``next()``.
        case drop(Answer)
        /// Find what answers the offer; ``found(_:)`` takes it.
        case find(Offer, failureCount: Int)
        /// Say this in the next request.
        case say(Answer)
        /// The answer that asks is the load's.
        case end
    }

    /// What became of that which was said last.
    enum Verdict: Sendable, Hashable {
        /// The challenge is the dialogue's next leg.
        case goesOn
        /// Only the proof was too old.
        case outdated
        case refused
        /// Nothing was proved: the request never came to be sent, or had no proof. For a dialogue, the server broke off.
        case unsaid(isDialogue: Bool)
    }

    /// What answers an offer.
    enum Finding: Sendable, Hashable {
        case credential(Credential)
        /// Who answers without being asked: not looked at twice.
        case atHand(Credential)
        case nothing
        /// The app wants the next method to be tried.
        case rejected
    }

    /// How many answers one load gives at most.
    static let limit = 10
    /// How often a proof that was only too old is made anew; after that it counts as refused.
    static let renewalLimit = 3
    /// How often a proof for a connection that went away is made anew, for another.
    static let lossLimit = 3

    /// What the last request said.
    private(set) var last: Answer?
    private(set) var failures: [ProtectionSpace: Int] = [:]
    private(set) var rejected: Set<ProtectionSpace> = []
    private var refused: [ProtectionSpace: [Credential]] = [:]
    private var answers = 0
    private var renewals = 0
    private var losses = 0
    /// Those of the present challenge that were not looked at yet; the first one is looked at.
    private var offers: ArraySlice<Offer> = []

    /// Whether the server asked, and was answered.
    var wasAsked: Bool { answers > 0 }
    /// Whether as many answers were given as a load gives.
    var isExhausted: Bool { answers >= Self.limit }

    // MARK: A challenge

    /// The server or proxy asked.
    ///
    /// - Parameter offers: what comes into question, in the order in which it is tried.
    mutating func challenged(by offers: [Offer]) -> Step {
        self.offers = offers[...]
        guard let last else { return !isExhausted ? next() : .end }
        let same = !isExhausted ? offers.first { $0.space == last.space } : nil
        return .examine(same?.offered)
    }

    /// What was said last was looked at.
    mutating func examined(_ verdict: Verdict) -> Step {
        guard let last else { return next() }
        let offer = offers.first { $0.space == last.space }
        switch verdict {
        case .goesOn:
            guard let offer else { return failed(last) }
            return say(Answer(offer: offer, credential: last.credential, leg: .next))
        case .outdated:
            guard let offer, renewals < Self.renewalLimit else { return failed(last) }
            renewals += 1
            return say(Answer(offer: offer, credential: last.credential, leg: .first))
        case .refused: return failed(last)
        case .unsaid(let isDialogue):
            // A server that does not go on where it has begun is asked no second time.
            if isDialogue { rejected.insert(last.space) }
            self.last = nil
            return next()
        }
    }

    /// The credential of the last answer counts as refused.
    private mutating func failed(_ answer: Answer) -> Step {
        note(refusalOf: answer)
        last = nil
        return .drop(answer)
    }

    private mutating func note(refusalOf answer: Answer) {
        failures[answer.space, default: 0] += 1
        refused[answer.space, default: []].append(answer.credential)
    }

    /// Goes on with the first offer that was not rejected.
    mutating func next() -> Step {
        guard !isExhausted else { return .end }
        offers = offers.drop { rejected.contains($0.space) }
        guard let offer = offers.first else { return .end }
        return .find(offer, failureCount: failures[offer.space] ?? 0)
    }

    /// What answers the offer that was asked for was found, or nothing does.
    mutating func found(_ finding: Finding) -> Step {
        guard let offer = offers.first else { return .end }
        switch finding {
        case .atHand(let credential): return say(Answer(offer: offer, credential: credential, leg: .first))
        case .credential(let credential) where !wasRefused(credential, in: offer.space):
            return say(Answer(offer: offer, credential: credential, leg: .first))
        case .credential, .nothing: offers = offers.dropFirst()
        case .rejected: rejected.insert(offer.space)
        }
        return next()
    }

    /// Once more what was refused would be a loop.
    private func wasRefused(_ credential: Credential, in space: ProtectionSpace) -> Bool {
        refused[space]?.contains { $0.user == credential.user && $0.password == credential.password } ?? false
    }

    private mutating func say(_ answer: Answer) -> Step {
        answers += 1
        return .say(answer)
    }

    // MARK: What was said

    /// The next request says the answer.
    mutating func said(_ answer: Answer) { last = answer }

    /// Who vouches for users refused the credential, before the server has heard of it.
    mutating func refusedBefore(_ answer: Answer) {
        note(refusalOf: answer)
        last = nil
    }

    /// Nobody was asked, and what would have been said unasked cannot be.
    mutating func saidNothing() { last = nil }

    /// The connection of a dialogue is gone.
    ///
    /// - Returns: the same over another, from its first leg; nil where it was lost too often.
    mutating func lost() -> Answer? {
        guard let last, losses < Self.lossLimit else { return nil }
        losses += 1
        return Answer(offer: last.offer, credential: last.credential, leg: .afterLoss)
    }

    /// Nothing more was asked.
    ///
    /// - Returns: what the last request said.
    mutating func succeeded() -> Answer? {
        defer { last = nil }
        return last
    }
}
