import HashTreeCollections
import SallyportCore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// Each part of a directory is reckoned at no less than it takes in a configuration.
///
/// What is reckoned has tens of KiB of room for what the directory does not say. A part that was left out would vanish in
/// that room, so only differences are compared here.
@Suite(.timeLimit(.minutes(1))) struct ConfigurationGrowthTests {
    @Test(arguments: Part.all) func noPartIsLongerThanReckoned(_ part: Part) async throws {
        let fixture = try await DataFixture()
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        var without = await fixture.data.directory
        try part.prepare(&without)
        var with = without
        try part.add(&with)
        let before = try await lengths(under: without, of: presented, fixture)
        let after = try await lengths(under: with, of: presented, fixture)
        let growth = after.made - before.made
        #expect(growth > 1_000)
        #expect(after.reckoned - before.reckoned >= growth)
    }

    /// The length of the payload, made of the members that the gateway makes it of, and the length that is reckoned.
    private func lengths(
        under directory: Directory, of presented: PresentedCertificate, _ fixture: DataFixture
    ) async throws -> (made: Int, reckoned: Int) {
        let data = fixture.data
        let known = await data.instances[presented.name.instance]
        var record = try #require(known)
        record.epoch = 1
        let authorities = await data.authorities
        let builder = ConfigurationBuilder(
            directory: directory, record: record, settings: await data.settings, gateways: await data.gateways,
            relays: try await data.ownRelays(), trust: authorities.announced, relayAuthorities: authorities.all,
            now: fixture.now)
        let document = try builder.document(version: nil)
        let made = try document.serialized(with: builder.sharedDocument().sharedMembers()).count
        let reckoned = try ConfigurationLengths(directory, authority: authorities.all.map(\.count).max() ?? 0)
        return (made, reckoned[Part.app])
    }
}

// MARK: Parts

extension ConfigurationGrowthTests {
    /// A part of a directory, of several KiB as a rule.
    struct Part: Sendable, CustomStringConvertible {
        typealias Edit = @Sendable (inout Directory) throws -> Void

        let description: String
        /// Makes the directory to which the part is added.
        let prepare: Edit
        let add: Edit

        init(_ description: String, to prepare: @escaping Edit = { _ in }, add: @escaping Edit) {
            (self.description, self.prepare, self.add) = (description, prepare, add)
        }

        static let all: [Self] = [
            entitlements, principalName, clusters, clustersWithAuthorities, realms, domains, networks, servers,
            serversInPlaceOfCommonOnes, serversBesideDeniedOnes, secondaries, defaultDomains, policy, configuration,
            extraInfo,
        ]

        static let app = "com.example.report"
        /// Of a domain name; also the name of a cluster.
        private static let label = String(repeating: "a", count: 60)

        private static func listed(_ make: (String) -> Directory.Server) -> [Directory.Server] {
            (0..<400).map { make("s\($0).\(label).example:443") }
        }
    }
}

// MARK: Of a user or an app

extension ConfigurationGrowthTests.Part {
    private static let entitlements = Self(
        "a user's entitlements",
        add: { directory in
            for number in 1..<Directory.Limits.entitlements {
                directory.users["ann"]?.entitlements["com.example.a\(number)"] = ["1.0.0.0", "2.0.0.0"]
            }
        })

    /// Each quotation mark takes two bytes in JSON. There is a short name before, since the member's
    /// own name, `principalName`, is reckoned in the room.
    private static let principalName = Self(
        "a user's principal name",
        to: { directory in directory.users["ann"]?.principalName = "\"@B" },
        add: { directory in
            directory.users["ann"]?.principalName = String(repeating: "\"", count: 1_022) + "@B"
        })

    private static let serversInPlaceOfCommonOnes = Self(
        "an app's servers in the place of common ones",
        to: { directory in directory.servers = listed { .init(endpoint: $0) } },
        add: { directory in
            directory.servers += listed {
                .init(endpoint: $0, application: app, priority: 1_000, route: .relay(cluster: label))
            }
        })

    private static let serversBesideDeniedOnes = Self(
        "an app's servers beside those that are denied to all",
        to: { directory in directory.servers = listed { .init(endpoint: $0, route: .deny) } },
        add: { directory in directory.servers += listed { .init(endpoint: $0, application: app) } })

    /// Each number takes more bytes in JSON than in the administrator's text.
    private static let policy = Self(
        "an app's policy",
        add: { directory in
            let numbers = Array(repeating: "1e15", count: 5_000).joined(separator: ",")
            directory.applications[app]?.policy = "{\"a\":[\(numbers)]}"
        })

    /// Each character takes six bytes in JSON.
    private static let configuration = Self(
        "an app's configuration",
        add: { directory in
            let text = String(repeating: "\u{1}", count: Directory.Limits.configuration)
            directory.applications[app]?.configuration = text
        })

    private static let extraInfo = Self(
        "an app's extra information",
        add: { directory in
            let texts = Array(repeating: "\"\"", count: 20_000).joined(separator: ",")
            directory.applications[app]?.extraInfo = "{\"a\":[\(texts)]}"
        })
}

// MARK: Of all apps

extension ConfigurationGrowthTests.Part {
    /// More than is kept for the authorities that a cluster may come to have.
    private static let relays = (0..<Directory.Limits.relays).map {
        Directory.Relay(endpoint: "r\($0).\(label).example:443", priority: 1_000)
    }
    private static let clusterNames = (0..<20).map { "c\($0)" }

    private static let clusters = Self(
        "clusters without authorities of their own",
        add: { directory in
            for name in clusterNames { directory.clusters[name] = relays }
        })

    private static let clustersWithAuthorities = Self(
        "clusters with authorities of their own",
        add: { directory in
            let pem = try (0..<ClusterAuthorities.maximumCount).map { try TestAuthority(name: "CA \($0)").pem }.joined()
            for name in clusterNames { directory.clusters[name] = relays }
            directory.clusterAuthorities = Dictionary(uniqueKeysWithValues: clusterNames.map { ($0, pem) })
        })

    private static let realms = Self(
        "realms",
        add: { directory in
            let kdcs = (0..<Directory.RealmLimits.kdcs).map { "k\($0).\(label).example:88" }
            directory.realms = Dictionary(uniqueKeysWithValues: (0..<100).map { ("R\($0).EXAMPLE", kdcs) })
        })

    private static let domains = Self(
        "domains",
        add: { directory in
            for number in 0..<400 {
                directory.domains["d\(number).\(label).example"] = Directory.Domain(
                    route: .relay(cluster: label), ports: [443, 8443])
            }
        })

    private static let networks = Self(
        "denied networks",
        add: { directory in
            for number in 0..<200 { try directory.setRoute("10.0.\(number).0/24", .init(route: .deny)) }
        })

    private static let servers = Self(
        "servers for all apps", add: { directory in directory.servers = listed { .init(endpoint: $0) } })

    private static let secondaries = Self(
        "secondary clusters",
        to: { directory in
            directory.defaultRoute = .init(route: .relay)
            directory.servers = listed { .init(endpoint: $0) }
            for number in 0..<400 { directory.domains["d\(number).example"] = Directory.Domain(route: .relay) }
        },
        add: { directory in
            directory.defaultRoute.secondary = label
            for index in directory.servers.indices { directory.servers[index].secondary = label }
            for name in directory.domains.keys { directory.domains[name]?.secondary = label }
        })

    private static let defaultDomains = Self(
        "default domains",
        add: { directory in
            directory.defaultDomains = (0..<ConfigurationDocument.Limits.defaultDomains).map {
                "d\($0).\(label).\(label).example"
            }
        })
}
