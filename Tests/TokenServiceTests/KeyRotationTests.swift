import Crypto
import Foundation
import SallyportAuthToken
import SallyportAuthTokenVerification
import SallyportBase
import SallyportWire
import Testing

@testable import SallyportGateway

/// The gateway's keys of tokens rotate while app servers verify. The gateway is an hour late when a test begins, and its
/// key is due: the next one is published then, and signs from now on.
@Suite(.timeLimit(.minutes(2))) struct KeyRotationTests {
    /// Another key than that of an earlier token, which the app server has not seen yet.
    @Test func aNewKeyIsFetchedWhenNeededAndAnUnknownOneOnceInTenSeconds() async throws {
        try await Enterprise.with(.init()) { enterprise in
            let server = try AppServer(of: enterprise)
            // The app server looks before the rotation: the first token is an hour old by its clock, but its key is known.
            let first = try await enterprise.token().text.reveal()
            try server.turn(toIssueOf: first, plus: 3600 - 60)
            #expect(await server.verdictOffline(of: first) == .expired)
            try await enterprise.data.renewTokenKeys()
            enterprise.turnGateway(to: 1)
            let second = try await enterprise.token().text.reveal()
            #expect(try Self.keyID(of: first) != Self.keyID(of: second))
            try server.turn(toIssueOf: second)
            #expect(server.fetches == 1)
            #expect(await server.verdicts(of: second) == .init())
            #expect(server.fetches == 2)
            let stranger = try await enterprise.forged(by: .init(), keyID: "stranger")
            for (seconds, fetches) in [(0, 2), (9, 2), (10, 3), (19, 3), (20, 4)] as [(Int64, Int)] {
                try server.turn(toIssueOf: second, plus: seconds)
                for _ in 0..<20 { #expect(await server.verdictOffline(of: stranger) == .malformed) }
                #expect(server.fetches == fetches)
                #expect(await server.verdictOffline(of: second) == nil)
            }
        }
    }

    @Test func theOldKeyCountsThroughTheOverlapAndNotAfter() async throws {
        try await Enterprise.with(.init()) { enterprise in
            let server = try AppServer(of: enterprise)
            try await enterprise.data.renewTokenKeys()
            let old = try #require(await enterprise.data.tokenKeys.records.first)
            enterprise.turnGateway(to: -100)
            let before = try await enterprise.token().text.reveal()
            #expect(try Self.keyID(of: before) == old.id)
            // The new key signs; what the old one has signed holds until it is over.
            enterprise.turnGateway(to: 100)
            let after = try await enterprise.token().text.reveal()
            #expect(try Self.keyID(of: after) != old.id)
            try server.turn(toIssueOf: after)
            for token in [before, after] { #expect(await server.verdicts(of: token) == .init()) }
            // Near the end of the overlap the old key is still published, and after it no token of it counts, whatever it
            // says: on-line at once, off-line when the kept keys are ten minutes old.
            for (seconds, verdicts) in [
                (3500, .init()), (3700, .init(online: .malformed)),
                (4200, .init(online: .malformed, offline: .malformed)),
            ] as [(TimeInterval, AppServer.Verdicts)] {
                enterprise.turnGateway(to: seconds)
                try await enterprise.data.renewTokenKeys()
                let key = try P256.Signing.PrivateKey(pemRepresentation: old.key)
                let late = try await enterprise.forged(by: key, keyID: old.id)
                try server.turn(toIssueOf: late)
                #expect(await server.verdicts(of: late) == verdicts, "\(seconds)")
            }
            #expect(await enterprise.data.tokenKeys.records.count == 1)
        }
    }

    private static func keyID(of token: String) throws -> String { try SignedAuthToken(Array(token.utf8)).keyID }
}
