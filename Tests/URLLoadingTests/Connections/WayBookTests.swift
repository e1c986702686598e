import Foundation
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing

@testable import SallyportConnecting

@Suite(.timeLimit(.minutes(1))) struct WayBookTests {
    private final class Signer: IdentitySigner {
        private let witness: ReleaseWitness?
        init(_ witness: ReleaseWitness?) { self.witness = witness }
        func signature(of input: [UInt8], by operation: SigningOperation) throws -> [UInt8] { [] }
    }

    /// Each server is reached with an identity of its own.
    private struct IdentityGate: AccessGate {
        let relays: [RelayAccess.Relay]
        let signer: @Sendable () -> any IdentitySigner
        private let feed = AccessFeed<Bool>()

        init(relays: [RelayAccess.Relay], signer: @escaping @Sendable () -> any IdentitySigner) {
            (self.relays, self.signer) = (relays, signer)
        }

        func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess {
            let identity = ClientIdentity(certificates: [Array("\(endpoint)".utf8)], signer: signer())
            let relay = RelayAccess(cluster: "main", relays: relays, authorities: [[1]], identity: identity)
            return ServerAccess(decision: RoutingTable(default: .relay).decide(endpoint), relay: relay)
        }

        func checkAuthorized() throws(AccessDenied) {}

        func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation {
            feed.observe(observer)
        }
    }

    /// The ninth way takes the place of the first, whose signer ends: one of an app may do anything then.
    @Test func aWayThatGivesWayIsReleasedWithoutTheLock() async throws {
        let (answers, tell) = AsyncStream.makeStream(of: Bool.self)
        let place = Lock<KnownWays?>(nil)
        let witness = Lock<ReleaseWitness?>(
            ReleaseWitness(tell) {
                let ways = place.withLock { $0 }
                _ = ways?.count
            })
        let gate = IdentityGate(relays: [.init(try Endpoint("relay.example:443"), priority: 1)]) {
            Signer(witness.withLock { $0.take() })
        }
        let connector = Connector(gate: gate, client: StubClient([.text("")]))
        let ways = KnownWays(ConnectionSettings(scope: .session("1")), of: connector)
        place.withLock { $0 = ways }
        Thread.detachNewThread {
            for number in 1...9 {
                _ = try? ways.way(
                    to: Endpoint("server-\(number).example:443"), isSecure: true, of: .instance, asking: connector)
            }
        }
        var isAnswered: Bool?
        for await answer in answers { isAnswered = answer }
        #expect(isAnswered == true)
        #expect(ways.count == 8)
        place.withLock { $0 = nil }
    }
}
