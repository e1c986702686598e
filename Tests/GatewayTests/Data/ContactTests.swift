import Foundation
import SallyportCore
import SallyportSecureStore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

extension DataFixture {
    /// When the only instance was last authenticated, as the administrator is told.
    func lastContact(in other: GatewayData? = nil) async throws -> Date {
        guard case .instances(let entries) = await (other ?? data).perform(.listInstances), entries.count == 1 else {
            throw GatewayError(.invalid, "There is not one instance.")
        }
        return entries[0].lastContact
    }

    /// The number of the newest commit of the gateway's data.
    func lastCommit() throws -> UInt64 { try store.statistics().lastCommit }
}

/// The last contact of an instance: in memory after each request, and stored with what is written anyway.
@Suite struct ContactTests {
    private let fixture: DataFixture
    private let instance: PresentedCertificate

    init() async throws {
        fixture = try await DataFixture()
        instance = try await fixture.enroll(fixture.link(), DataFixture.request())
    }

    @Test func anActivationIsTheFirstContact() async throws {
        let activated = fixture.now
        fixture.advance(1000)
        #expect(try await fixture.lastContact() == activated)
        #expect(try await fixture.lastContact(in: fixture.restarted()) == activated)
    }

    @Test(.enabled(if: TestFleet.isStandalone)) func eachFetchIsAContactAndMostWriteNothing() async throws {
        fixture.advance(100)
        _ = try await fixture.document(instance)
        let stored = fixture.now
        #expect(try await fixture.lastContact(in: fixture.restarted()) == stored)
        let commits = try fixture.lastCommit()
        fixture.advance(30)
        _ = try await fixture.document(instance)
        #expect(try await fixture.lastContact() == fixture.now)
        #expect(try fixture.lastCommit() == commits)
        #expect(try await fixture.lastContact(in: fixture.restarted()) == stored)
    }

    @Test func aContactIsStoredWithTheNextChangeOfTheInstance() async throws {
        _ = try await fixture.document(instance)
        fixture.advance(30)
        _ = try await fixture.data.admitted(instance)
        let contact = fixture.now
        fixture.advance(30)
        try await fixture.perform(.withdraw(instance: instance.name.instance.description, .block))
        #expect(try await fixture.lastContact() == contact, "the administrator is not the instance")
        #expect(try await fixture.lastContact(in: fixture.restarted()) == contact)
    }

    @Test(.enabled(if: !TestFleet.isStandalone))
    func contactAtAnotherGatewayCountsAsOfTheLastConfiguration() async throws {
        let other = try await fixture.restarted()
        fixture.advance(3600)
        _ = try await fixture.document(instance)
        let fetched = fixture.now
        fixture.advance(30)
        _ = try await fixture.data.admitted(instance)
        // The database has whole milliseconds.
        #expect(try await abs(fixture.lastContact(in: other).timeIntervalSince(fetched)) < 0.01)
        #expect(try await fixture.lastContact() == fixture.now)
        let id = instance.name.instance.description
        guard case .needsConfirmation(let asked) = await other.perform(.withdraw(instance: id, .wipe, confirmed: false))
        else { throw TestFailure("It is not asked.") }
        #expect(asked.allSatisfy { abs($0.lastContact.timeIntervalSince(fetched)) < 0.01 })
        await other.close()
    }

    @Test func whileTheStoreDoesNotAnswerTheListIsOfWhatIsKnownHere() async throws {
        let activated = fixture.now
        let (store, other) = try await fixture.faulty()
        store.set(.fails)
        #expect(try await fixture.lastContact(in: other) == activated)
    }

    @Test func aWithdrawnInstanceThatAsksIsStillHeardOf() async throws {
        try await fixture.perform(.withdraw(instance: instance.name.instance.description, .wipe))
        fixture.advance(500)
        #expect(try await fixture.document(instance).status == .wiped)
        #expect(try await fixture.lastContact() == fixture.now)
    }

    @Test func aReplacedCertificateIsNoContact() async throws {
        let chain = try await fixture.data.reenroll(instance, request: DataFixture.request())
        fixture.advance(10)
        _ = try await fixture.document(fixture.data.presented(chain[0]))
        let contact = fixture.now
        fixture.advance(10)
        await #expect(throws: GatewayError(.retired, "")) { try await fixture.document(instance) }
        #expect(try await fixture.data.standing(ofStoreWith: 0, told: nil, of: instance) != .putBack)
        #expect(try await fixture.lastContact() == contact)
    }
}

/// The same over the network: which requests count.
@Suite(.timeLimit(.minutes(1))) struct ContactRequestTests {
    @Test func aTunnelIsAContactWhetherOrNotThePolicyAllowsIt() async throws {
        try await ControlFixture.with { fixture in
            let identity = try await fixture.activated()
            for isAllowed in [false, true] {
                let port = try UInt16(#require(fixture.listeners.verificationPort))
                if isAllowed { try await fixture.data.perform(.addServer(.init(endpoint: "127.0.0.1:\(port)"))) }
                fixture.data.advance(20)
                let asked = try await fixture.connect(to: port, as: identity)
                #expect(asked.status == (isAllowed ? 200 : 403))
                #expect(try await fixture.data.lastContact() == fixture.data.now)
            }
        }
    }

    @Test func aRequestWithoutTheInstancesCertificateIsNone() async throws {
        try await ControlFixture.with { fixture in
            _ = try await fixture.activated()
            let activated = fixture.data.now
            fixture.data.advance(20)
            #expect(try await fixture.get(ControlAPI.Path.configuration).status == 401)
            #expect(try await fixture.get(ControlAPI.Path.health).status == 200)
            #expect(try await fixture.data.lastContact() == activated)
        }
    }

    @Test func anInstanceThatListensIsHeardOfEachMinute() async throws {
        try await ControlFixture.with { fixture in
            let identity = try await fixture.activated()
            let connection = try await fixture.connection(as: identity)
            connection.send("GET \(ControlAPI.Path.events) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try await connection.head().hasPrefix("HTTP/1.1 200 "))
            fixture.data.advance(120)
            let expected = fixture.data.now
            #expect(
                try await eventually(within: .seconds(15)) { try await fixture.data.lastContact() == expected })
        }
    }
}
