import Testing

@testable import SallyportTransport

/// When a request is sent, and when it is sent again.
struct SendRuleTests {
    private func rule(isIdempotent: Bool = true, over connection: UInt64? = nil) -> SendRule {
        SendRule(isIdempotent: isIdempotent, requiredConnection: connection)
    }

    @Test func idempotentRequestIsSentAgain() {
        var rule = rule()
        for _ in 0..<3 {
            #expect(rule.willSend(over: nil, hasSentNothing: false, canStartAnew: false) == .send)
        }
        #expect(rule.retries == 2)
    }

    @Test func otherRequestIsSentAgainOnlyWhereNoByteWasSent() {
        var rule = rule(isIdempotent: false)
        #expect(rule.willSend(over: nil, hasSentNothing: false, canStartAnew: true) == .send)
        #expect(rule.willSend(over: nil, hasSentNothing: true, canStartAnew: true) == .send)
        #expect(rule.willSend(over: nil, hasSentNothing: false, canStartAnew: true) == .notTwice)
    }

    @Test func requestStaysOnItsRequiredConnection() {
        var rule = rule(over: 7)
        #expect(
            rule.willConnect(hasSentNothing: true, canStartAnew: true) == .connectionIsGone(isUnsent: true))
        #expect(rule.willSend(over: 7, hasSentNothing: false, canStartAnew: false) == .send)
        #expect(
            rule.willSend(over: 8, hasSentNothing: false, canStartAnew: false) == .connectionIsGone(isUnsent: false))
        #expect(
            rule.willSend(over: nil, hasSentNothing: false, canStartAnew: true) == .connectionIsGone(isUnsent: true))
        #expect(rule.retries == 0)
    }

    @Test func sentRequestThatIsNotIdempotentIsNotUnsent() {
        var rule = rule(isIdempotent: false, over: 7)
        #expect(rule.willSend(over: 7, hasSentNothing: false, canStartAnew: true) == .send)
        let verdict = rule.willConnect(hasSentNothing: false, canStartAnew: true)
        #expect(verdict == .connectionIsGone(isUnsent: false))
    }
}
