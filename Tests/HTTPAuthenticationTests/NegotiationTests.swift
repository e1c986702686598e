import SallyportBase
import SallyportCore
import Testing

@testable import SallyportHTTPAuthentication

/// Which challenge is answered, how often and with what: the value alone, without a server, an app or a scheme.
@Suite struct NegotiationTests {
    private static let ann = Credential(user: "ann", password: Redacted("secret"))
    private static let bob = Credential(user: "bob", password: Redacted("hunter"))

    private static func offer(_ realm: String, _ method: String = "basic") -> Negotiation.Offer {
        Negotiation.Offer(
            space: ProtectionSpace(origin: "https://a.example:443", realm: realm, method: AuthenticationMethod(method)),
            offered: OfferedScheme(name: method))
    }

    private static func answer(
        _ offer: Negotiation.Offer, _ credential: Credential = ann, _ leg: Negotiation.Leg = .first
    ) -> Negotiation.Answer {
        Negotiation.Answer(offer: offer, credential: credential, leg: leg)
    }

    private let first = Self.offer("one")
    private let second = Self.offer("two")

    /// A negotiation whose last request carried ``ann``'s answer to the offer.
    private func said(_ offer: Negotiation.Offer) -> Negotiation {
        var negotiation = Negotiation()
        _ = negotiation.challenged(by: [offer])
        _ = negotiation.found(.credential(Self.ann))
        negotiation.said(Self.answer(offer))
        return negotiation
    }

    // MARK: The first challenge

    @Test func offersAreTriedInTheirOrderUntilOneIsAnswered() {
        var negotiation = Negotiation()
        #expect(negotiation.challenged(by: [first, second]) == .find(first, failureCount: 0))
        #expect(negotiation.found(.nothing) == .find(second, failureCount: 0))
        #expect(negotiation.found(.credential(Self.ann)) == .say(Self.answer(second)))
        #expect(negotiation.wasAsked)
    }

    @Test func withoutAnAnswerTheServersIsTheResult() {
        var negotiation = Negotiation()
        #expect(negotiation.challenged(by: []) == .end)
        _ = negotiation.challenged(by: [first])
        #expect(negotiation.found(.nothing) == .end)
        #expect(!negotiation.wasAsked && negotiation.succeeded() == nil)
    }

    @Test func aSpaceThatTheAppRejectsIsNotTriedAgain() {
        var negotiation = Negotiation()
        _ = negotiation.challenged(by: [first, second])
        #expect(negotiation.found(.rejected) == .find(second, failureCount: 0))
        #expect(negotiation.challenged(by: [first]) == .end)
        #expect(negotiation.rejected == [first.space])
    }

    // MARK: After an answer

    @Test func theLastAnswerIsExaminedFirst() {
        var negotiation = said(first)
        #expect(negotiation.challenged(by: [second, first]) == .examine(first.offered))
        #expect(negotiation.examined(.refused) == .drop(Self.answer(first)))
        #expect(negotiation.next() == .find(second, failureCount: 0))
        #expect(negotiation.found(.nothing) == .find(first, failureCount: 1))
        #expect(negotiation.failures == [first.space: 1] && negotiation.last == nil)
    }

    @Test func aRefusedCredentialIsNotSaidASecondTime() {
        var negotiation = said(first)
        _ = negotiation.challenged(by: [first])
        _ = negotiation.examined(.refused)
        #expect(negotiation.next() == .find(first, failureCount: 1))
        #expect(negotiation.found(.credential(Self.ann)) == .end)
        _ = negotiation.challenged(by: [first])
        #expect(negotiation.found(.credential(Self.bob)) == .say(Self.answer(first, Self.bob)))
    }

    @Test func aCredentialAtHandMayBeSentAgain() {
        var negotiation = said(first)
        _ = negotiation.challenged(by: [first])
        _ = negotiation.examined(.refused)
        _ = negotiation.next()
        #expect(negotiation.found(.atHand(Self.ann)) == .say(Self.answer(first)))
    }

    @Test func aProofThatIsTooOldIsMadeAnewAFewTimes() {
        var negotiation = said(first)
        for _ in 0..<Negotiation.renewalLimit {
            _ = negotiation.challenged(by: [first])
            #expect(negotiation.examined(.outdated) == .say(Self.answer(first)))
            negotiation.said(Self.answer(first))
        }
        _ = negotiation.challenged(by: [first])
        #expect(negotiation.examined(.outdated) == .drop(Self.answer(first)))
    }

    @Test func aDialogueGoesOnWithTheSameUser() {
        var negotiation = said(first)
        _ = negotiation.challenged(by: [second, first])
        #expect(negotiation.examined(.goesOn) == .say(Self.answer(first, Self.ann, .next)))
        #expect(negotiation.last == Self.answer(first))
    }

    @Test func aServerThatBreaksOffIsAskedNoSecondTime() {
        var negotiation = said(first)
        _ = negotiation.challenged(by: [first])
        #expect(negotiation.examined(.unsaid(isDialogue: true)) == .end)
        #expect(negotiation.failures.isEmpty, "nothing was refused")
        var other = said(first)
        _ = other.challenged(by: [first])
        #expect(other.examined(.unsaid(isDialogue: false)) == .find(first, failureCount: 0))
    }

    @Test func aCredentialRefusedBeforeItWasSentCountsAsRefused() {
        var negotiation = Negotiation()
        _ = negotiation.challenged(by: [first])
        _ = negotiation.found(.credential(Self.ann))
        negotiation.refusedBefore(Self.answer(first))
        #expect(negotiation.challenged(by: [first]) == .find(first, failureCount: 1))
        #expect(negotiation.found(.credential(Self.ann)) == .end)
    }

    // MARK: Issuers of proofs

    /// A KDC's refusal can be forged: it must not make another method show the password.
    @Test func aPasswordThatAnIssuerRefusedIsSaidByNoOtherMethodButByTheApp() {
        let (ticket, basic) = (Self.offer("one", "negotiate"), Self.offer("one"))
        var negotiation = Negotiation()
        _ = negotiation.challenged(by: [ticket, basic])
        #expect(negotiation.found(.proposed(Self.ann)) == .say(Self.answer(ticket)))
        negotiation.refusedBefore(Self.answer(ticket))
        _ = negotiation.challenged(by: [ticket, basic])
        #expect(negotiation.found(.proposed(Self.ann)) == .find(basic, failureCount: 0))
        let sameElsewhere = Credential(user: "EXAMPLE\\ann", password: Redacted("secret"))
        #expect(negotiation.found(.proposed(sameElsewhere)) == .end)
        _ = negotiation.challenged(by: [basic])
        #expect(negotiation.found(.proposed(Self.bob)) == .say(Self.answer(basic, Self.bob)))
        _ = negotiation.challenged(by: [basic])
        #expect(negotiation.found(.credential(Self.ann)) == .say(Self.answer(basic)))
    }

    /// Delegates usually answer a first challenge with what it proposes.
    @Test func aPasswordThatAnIssuerRefusedIsProposedForNoOtherSpace() {
        let (ticket, basic) = (Self.offer("one", "negotiate"), Self.offer("one"))
        var negotiation = Negotiation()
        _ = negotiation.challenged(by: [ticket, basic])
        _ = negotiation.found(.proposed(Self.ann))
        #expect(negotiation.mayPropose(Self.ann, in: basic.space))
        negotiation.refusedBefore(Self.answer(ticket))
        #expect(!negotiation.mayPropose(Self.ann, in: basic.space))
        #expect(negotiation.mayPropose(Self.bob, in: basic.space))
        #expect(negotiation.mayPropose(Self.ann, in: ticket.space), "After a failure, the refused one is shown.")
    }

    @Test func aPasswordThatAnIssuerRefusedBeforeAnyChallengeIsKeptBackToo() {
        let (ticket, basic) = (Self.offer("one", "negotiate"), Self.offer("one"))
        var negotiation = Negotiation()
        negotiation.said(Self.answer(ticket, Self.ann, .unasked))
        negotiation.refusedUnasked(Self.ann)
        #expect(negotiation.challenged(by: [basic]) == .find(basic, failureCount: 0))
        #expect(negotiation.found(.proposed(Self.ann)) == .end)
    }

    @Test func ticketsThatAnIssuerRefusedKeepNoPasswordBack() {
        let (ticket, basic) = (Self.offer("one", "negotiate"), Self.offer("one"))
        let atHand = Credential(user: "ann@R", password: Redacted(""))
        var negotiation = Negotiation()
        _ = negotiation.challenged(by: [ticket, basic])
        _ = negotiation.found(.atHand(atHand))
        negotiation.refusedBefore(Self.answer(ticket, atHand))
        _ = negotiation.challenged(by: [basic])
        let empty = Credential(user: "guest", password: Redacted(""))
        #expect(negotiation.found(.proposed(empty)) == .say(Self.answer(basic, empty)))
    }

    // MARK: Limits

    @Test func answersHaveALimit() {
        var negotiation = Negotiation()
        for number in 0..<Negotiation.limit {
            var step = negotiation.challenged(by: [first])
            if case .examine = step {
                _ = negotiation.examined(.refused)
                step = negotiation.next()
            }
            #expect(step == .find(first, failureCount: number))
            let credential = Credential(user: "ann", password: Redacted("\(number)"))
            #expect(negotiation.found(.credential(credential)) == .say(Self.answer(first, credential)))
            negotiation.said(Self.answer(first, credential))
        }
        #expect(negotiation.isExhausted)
        // The last answer counts as refused all the same; the challenge's offers are not tried.
        #expect(negotiation.challenged(by: [first]) == .examine(nil))
        let last = Credential(user: "ann", password: Redacted("\(Negotiation.limit - 1)"))
        #expect(negotiation.examined(.refused) == .drop(Self.answer(first, last)))
        #expect(negotiation.next() == .end)
    }

    @Test func lostConnectionsHaveALimit() {
        var negotiation = said(first)
        for _ in 0..<Negotiation.lossLimit {
            let again = negotiation.lost()
            #expect(again == Self.answer(first, Self.ann, .afterLoss))
            again.map { negotiation.said($0) }
        }
        #expect(negotiation.lost() == nil)
        var nothing = Negotiation()
        #expect(nothing.lost() == nil)
    }

    @Test func successEndsWhatWasSaid() {
        var negotiation = said(first)
        #expect(negotiation.succeeded() == Self.answer(first))
        #expect(negotiation.succeeded() == nil && negotiation.lost() == nil)
    }

    @Test func aCredentialSentUnaskedCountsAsUnchallenged() {
        var negotiation = Negotiation()
        negotiation.said(Self.answer(first, Self.ann, .unasked))
        #expect(!negotiation.wasAsked && negotiation.succeeded() == Self.answer(first, Self.ann, .unasked))
        negotiation.said(Self.answer(first, Self.ann, .unasked))
        negotiation.refusedUnasked(Self.ann)
        #expect(negotiation.challenged(by: [first]) == .find(first, failureCount: 0))
    }
}
