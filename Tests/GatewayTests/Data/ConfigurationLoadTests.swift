import Foundation
import HTTPTypes
import SallyportCore
import SallyportSecureStore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// What fetches of the configuration cost the gateway, in numbers that do not depend on the machine.
@Suite(.timeLimit(.minutes(2))) struct ConfigurationLoadTests {
    @Test(.enabled(if: TestFleet.isStandalone)) func fetchesShareOneWriteAMinute() async throws {
        let fixture = try await DataFixture()
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        _ = try await fixture.document(presented)
        let store = fixture.store
        let before = try store.statistics().writes
        var last: Int64 = 0
        for _ in 0..<50 {
            let epoch = try await fixture.document(presented).epoch
            #expect(epoch > last)
            last = epoch
        }
        #expect(try store.statistics().writes == before)
        fixture.advance(61)
        _ = try await fixture.document(presented)
        #expect(try store.statistics().writes == before + 1)
    }

    /// Even if the clock stands still, and if one crash follows another.
    @Test func noEpochComesTwiceWhateverBecomesOfTheGateway() async throws {
        let fixture = try await DataFixture()
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let clock = await fixture.data.clock
        var last: Int64 = 0
        for _ in 0..<3 {
            // After a crash there is only what the store holds.
            let data = try await fixture.restarted(clock: clock)
            for _ in 0..<3 {
                let text = try await data.configuration(for: presented, version: nil)
                let payload = try JWS(Array(text.utf8), type: ConfigurationDocument.type).payload
                let epoch = try ConfigurationDocument(parsing: payload).epoch
                #expect(epoch > last)
                last = epoch
            }
        }
    }

    @Test(.enabled(if: TestFleet.isStandalone)) func anEpochIsDurableBeforeItIsSigned() async throws {
        let fixture = try await DataFixture()
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let (store, collections) = (fixture.store, EmbeddedCollections(fixture.store))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<32 {
                group.addTask {
                    let epoch = try await fixture.document(presented).epoch
                    let kept = try store.read {
                        try $0.value(for: presented.name.instance.description, in: collections.instances)
                    }
                    #expect(try #require(kept).epoch >= epoch)
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func sharedMembersAreEncodedOnceForEachChange() async throws {
        let fixture = try await DataFixture()
        var instances: [PresentedCertificate] = []
        for _ in 0..<3 { instances.append(try await fixture.enroll(fixture.link(), DataFixture.request())) }
        for round in 1...3 {
            try await fixture.perform(.addServer(.init(endpoint: "s\(round).example:443")))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for instance in instances {
                    for _ in 0..<8 {
                        group.addTask {
                            let document = try await fixture.document(instance)
                            #expect(document.aud == instance.name.instance && document.servers.count == round)
                        }
                    }
                }
                try await group.waitForAll()
            }
            let maker = await fixture.data.maker
            #expect(await maker.encodings == round)
        }
    }

    @Test func onlyAnInstanceThatFetchesTooOftenIsSlowedDown() async throws {
        try await ControlFixture.with { fixture in
            let (greedy, other) = (try await fixture.activated(), try await fixture.activated())
            let clients = try await fixture.connections(128, as: greedy)
            let statuses = try await withThrowingTaskGroup(of: String.self) { group in
                for client in clients {
                    group.addTask {
                        client.send("GET \(ControlAPI.Path.configuration) HTTP/1.1\r\nHost: localhost\r\n\r\n")
                        return try await client.head()
                    }
                }
                return try await group.reduce(into: [String]()) { $0.append($1) }
            }
            // This gateway's clock stands still, so no turn becomes free.
            #expect(statuses.count { $0.hasPrefix("HTTP/1.1 200") } == 30)
            let refused = statuses.filter { $0.hasPrefix("HTTP/1.1 429") }
            #expect(refused.count == 98 && refused.allSatisfy { $0.lowercased().contains("retry-after: 1") })
            #expect(try await fixture.get(ControlAPI.Path.configuration, as: other).status == 200)
            fixture.data.advance(10)
            #expect(try await fixture.get(ControlAPI.Path.configuration, as: greedy).status == 200)
        }
    }

    /// Only in `make soak`: it measures a time, which other work on the machine makes longer.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["SALLYPORT_SOAK"] != nil))
    func anothersFetchTakesAtMostTwiceAsLong() async throws {
        let data = try await DataFixture(standsStill: false)
        let servers = (0..<3000).map { "  - server: server\($0).corp.example:443\n" }.joined()
        _ = await data.data.perform(.apply(yaml: "servers:\n\(servers)", prune: false, dryRun: false, confirmed: true))
        try await ControlFixture.with(data) { fixture in
            let (greedy, other) = (try await fixture.activated(), try await fixture.activated())
            let client = try await fixture.connection(as: other)
            let alone = try await fixture.median(of: 40, over: client)
            let beside = try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<128 {
                    group.addTask {
                        let client = try await fixture.connection(as: greedy)
                        while !Task.isCancelled { _ = try? await fixture.fetch(over: client) }
                    }
                }
                try await Task.sleep(for: .seconds(2))
                defer { group.cancelAll() }
                return try await fixture.median(of: 40, over: client)
            }
            print("Configuration of 3,000 servers: \(alone) alone, \(beside) beside 128 connections of another")
            #expect(beside <= max(alone * 2, .milliseconds(50)))
        }
    }

    @Test func oneInstanceRenewsOnlySoOftenAndIsToldWhenAgain() async throws {
        try await ControlFixture.with { fixture in
            let identity = try await fixture.activated()
            for _ in 0..<20 { #expect(try await fixture.renew(as: identity).status == 200) }
            let refused = try await fixture.renew(as: identity)
            #expect(refused.status == 429 && refused.fields[.retryAfter] == "10")
        }
    }
}

extension ControlFixture {
    /// Opened one after the other: of many handshakes at once, the oldest gives way.
    fileprivate func connections(_ count: Int, as identity: ClientIdentity) async throws -> [TestConnection] {
        var connections: [TestConnection] = []
        for _ in 0..<count {
            let connection = try await connection(as: identity)
            try await connection.handshakeEnded()
            connections.append(connection)
        }
        return connections
    }

    /// Fetches the configuration; returns how long it took.
    fileprivate func fetch(over client: TestConnection) async throws -> Duration {
        let start = ContinuousClock.now
        client.send("GET \(ControlAPI.Path.configuration) HTTP/1.1\r\nHost: localhost\r\n\r\n")
        let head = try await client.head().lowercased()
        let length = try #require(head.firstMatch(of: /content-length: (\d+)/).flatMap { Int($0.output.1) })
        _ = try await client.read(length)
        return .now - start
    }

    /// The median time of fetches within an instance's pace.
    fileprivate func median(of count: Int, over client: TestConnection) async throws -> Duration {
        var times: [Duration] = []
        for _ in 0..<count {
            times.append(try await fetch(over: client))
            try await Task.sleep(for: .milliseconds(150))
        }
        return times.sorted()[count / 2]
    }
}
