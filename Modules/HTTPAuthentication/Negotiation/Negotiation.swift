internal import SallyportBase
internal import SallyportCore

/// Decides, for one load and one server or proxy, which challenge is answered next, with which credential, and when to
/// stop. A value without I/O, clock or credentials of its own: it returns the next step and is told the result, and
/// ``Negotiator`` carries the steps out.
///
/// A challenge begins with ``challenged(by:)``: first the last request's answer is examined (``Step/examine(_:)``),
/// then a credential is looked for in the order of the offers (``Step/find(_:failureCount:)``), until there is an
/// answer to send (``Step/say(_:)``) or nothing is left to try (``Step/end``).
struct Negotiation: Sendable {
    /// A challenge and its protection space.
    struct Offer: Sendable, Hashable {
        let space: ProtectionSpace
        let offered: OfferedScheme
    }

    /// A request's answer to a challenge.
    struct Answer: Sendable, Hashable {
        let offer: Offer
        let credential: Credential
        let leg: Leg

        var space: ProtectionSpace { offer.space }
    }

    enum Leg: Sendable, Hashable {
        /// There was no challenge: an earlier credential may still be accepted.
        case unasked
        /// The server sent a challenge, and does not know the user yet.
        case first
        /// The next message of the same dialogue.
        case next
        /// The first message again, since the dialogue's connection was lost.
        case afterLoss
    }

    /// The next step.
    enum Step: Sendable, Hashable {
        /// Examine the last answer in the light of this challenge of the same space, if there is one, and pass the
        /// result to ``examined(_:)``.
        case examine(OfferedScheme?)
        /// Report the refused credential to the credential storage, then call ``next()``.
        case drop(Answer)
        /// Find an answer to the offer, and pass it to ``found(_:)``.
        case find(Offer, failureCount: Int)
        /// Send this answer with the next request.
        case say(Answer)
        /// Return the response with the challenge to the app: it is the load's result.
        case end
    }

    /// The result for the last answer.
    enum Verdict: Sendable, Hashable {
        /// The challenge continues the dialogue.
        case goesOn
        /// Only the proof had expired.
        case outdated
        case refused
        /// No proof was sent: the request was not sent, or went without one. In a dialogue, the server broke it off.
        case unsaid(isDialogue: Bool)
    }

    /// The result of looking for an answer to an offer.
    enum Finding: Sendable, Hashable {
        /// The app's answer to this challenge.
        case credential(Credential)
        /// The request's own, or a stored one: the app did not choose it for this challenge.
        case proposed(Credential)
        /// From a scheme that can answer without asking the app; it is not checked against refused credentials.
        case atHand(Credential)
        case nothing
        /// The app wants the next method.
        case rejected
    }

    /// The greatest number of answers in one load.
    static let limit = 10
    /// How often an expired proof is renewed; after that it counts as refused.
    static let renewalLimit = 3
    /// How often a lost connection is replaced by another one.
    static let lossLimit = 3

    /// The answer that the last request carried.
    private(set) var last: Answer?
    private(set) var failures: [ProtectionSpace: Int] = [:]
    private(set) var rejected: Set<ProtectionSpace> = []
    private var refused: [ProtectionSpace: [Credential]] = [:]
    /// What an issuer of proofs, such as a KDC, has refused. Its answer can be forged, and no forger must bring a
    /// password to the server by another method: only the app itself can.
    private var refusedByIssuer: [Redacted<String>] = []
    private var answers = 0
    private var renewals = 0
    private var losses = 0
    /// The offers of the present challenge that are still to be tried, beginning with the present one.
    private var offers: ArraySlice<Offer> = []

    /// Whether the server sent a challenge that was answered.
    var wasAsked: Bool { answers > 0 }
    /// Whether the load has given as many answers as it may.
    var isExhausted: Bool { answers >= Self.limit }

    // MARK: A challenge

    /// The server or the proxy sent a challenge.
    ///
    /// - Parameter offers: the offers that may be answered, in the order in which they are tried.
    mutating func challenged(by offers: [Offer]) -> Step {
        self.offers = offers[...]
        guard let last else { return !isExhausted ? next() : .end }
        let same = !isExhausted ? offers.first { $0.space == last.space } : nil
        return .examine(same?.offered)
    }

    /// The last answer was examined.
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
            // A server that breaks off its own dialogue is not tried again.
            if isDialogue { rejected.insert(last.space) }
            self.last = nil
            return next()
        }
    }

    /// Counts the credential of the last answer as refused.
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

    /// The search for an answer to the present offer has ended.
    mutating func found(_ finding: Finding) -> Step {
        guard let offer = offers.first else { return .end }
        switch finding {
        case .atHand(let credential): return say(Answer(offer: offer, credential: credential, leg: .first))
        case .credential(let credential) where !wasRefused(credential, in: offer.space):
            return say(Answer(offer: offer, credential: credential, leg: .first))
        case .proposed(let credential) where !wasRefused(credential, in: offer.space) && !isKeptBack(credential):
            return say(Answer(offer: offer, credential: credential, leg: .first))
        case .credential, .proposed, .nothing: offers = offers.dropFirst()
        case .rejected: rejected.insert(offer.space)
        }
        return next()
    }

    /// Whether the credential was refused before: to send it again would be a loop.
    private func wasRefused(_ credential: Credential, in space: ProtectionSpace) -> Bool {
        refused[space]?.contains { $0.user == credential.user && $0.password == credential.password } ?? false
    }

    /// Whether the app may be shown the credential as the proposed one. One that is kept back is shown only for the space
    /// that refused it, to which it cannot be said again.
    func mayPropose(_ credential: Credential, in space: ProtectionSpace) -> Bool {
        wasRefused(credential, in: space) || !isKeptBack(credential)
    }

    private func isKeptBack(_ credential: Credential) -> Bool {
        refusedByIssuer.contains { $0 == credential.password }
    }

    private mutating func say(_ answer: Answer) -> Step {
        answers += 1
        return .say(answer)
    }

    // MARK: Answers

    /// The next request carries this answer.
    mutating func said(_ answer: Answer) { last = answer }

    /// The issuer of proofs, such as a KDC, refused the credential before the server has seen it.
    mutating func refusedBefore(_ answer: Answer) {
        note(refusalOf: answer)
        keepBack(answer.credential)
        last = nil
    }

    /// There was no challenge, and the issuer of proofs refused the credential that is known for the space: the request
    /// goes without it.
    mutating func refusedUnasked(_ credential: Credential) {
        keepBack(credential)
        last = nil
    }

    /// Tickets at hand have no password.
    private mutating func keepBack(_ credential: Credential) {
        guard !credential.password.reveal().isEmpty else { return }
        refusedByIssuer.append(credential.password)
    }

    /// The dialogue's connection was lost.
    ///
    /// - Returns: the same answer for another connection, from its first message; nil if connections were lost too
    ///   often.
    mutating func lost() -> Answer? {
        guard let last, losses < Self.lossLimit else { return nil }
        losses += 1
        return Answer(offer: last.offer, credential: last.credential, leg: .afterLoss)
    }

    /// The load got a response that is not a challenge.
    ///
    /// - Returns: the answer that the last request carried.
    mutating func succeeded() -> Answer? {
        defer { last = nil }
        return last
    }
}
