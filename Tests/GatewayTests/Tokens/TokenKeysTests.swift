import Foundation
import SallyportWire
import Testing

@testable import SallyportGateway

/// The keys of tokens through time.
@Suite struct TokenKeysTests {
    private let start = Date(timeIntervalSince1970: 1_700_000_000)

    @Test func theFirstKeySignsAtOnce() throws {
        let keys = TokenKeys([]).renewed(at: start)
        let key = try #require(keys.signing(at: start))
        #expect(keys.records == [key] && keys.renewed(at: start) == keys)
        #expect(ReadyTokenKeys(keys).published.keys.map(\.keyID) == [key.id])
        #expect(ReadyTokenKeys(keys).published.keys.map(\.thumbprint) == [key.id])
    }

    /// A verifier that caches the published keys for as long as it may has the new key before it signs.
    @Test func aNewKeyIsPublishedBeforeItSignsAndTheOldOneAfter() throws {
        let first = TokenKeys([]).renewed(at: start)
        let due = start + TokenKeys.period - TokenKeys.lead
        #expect(first.renewed(at: due - 1) == first)
        let both = first.renewed(at: due)
        #expect(both.records.count == 2 && both.signing(at: due) == first.records[0])
        #expect(TokenKeys.lead > Double(TokenKeys.maximumAge))
        let taken = due + TokenKeys.lead
        #expect(both.signing(at: taken - 1) == first.records[0] && both.signing(at: taken) == both.records[1])
        #expect(TokenKeys.overlap > Double(AuthTokenClaims.lifetime))
        #expect(both.renewed(at: taken + TokenKeys.overlap) == both)
        let second = both.renewed(at: taken + TokenKeys.overlap + 1)
        #expect(second.records == [both.records[1]])
    }

    @Test func aGatewayThatWasOffForYearsSignsAndRotates() throws {
        let first = TokenKeys([]).renewed(at: start)
        let later = start + 1000 * 86_400
        let both = first.renewed(at: later)
        #expect(both.signing(at: later) == first.records[0] && both.records.count == 2)
        #expect(both.signing(at: start - 86_400) == first.records[0])
    }

    @Test func keysLieInTheStoreAndComeBack() async throws {
        let fixture = try await DataFixture()
        #expect(await fixture.data.tokenKeys.records.isEmpty)
        try await fixture.data.renewTokenKeys()
        let kept = await fixture.data.tokenKeys
        #expect(kept.records.count == 1)
        fixture.advance(TokenKeys.period)
        try await fixture.data.renewTokenKeys()
        #expect(await fixture.data.tokenKeys.records.count == 2)
        fixture.advance(TokenKeys.lead + TokenKeys.overlap + 1)
        try await fixture.data.renewTokenKeys()
        let now = await fixture.data.tokenKeys
        #expect(now.records.count == 1 && now != kept)
        let again = try await fixture.restarted()
        #expect(await again.tokenKeys == now)
        // Never the keys of anything else.
        let signer = await fixture.data.signer.key
        #expect(now.records.allSatisfy { $0.key != signer })
    }
}
