import Logging
import NIOCore
import NIOPosix
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

@Suite(.timeLimit(.minutes(2))) struct RelayTests {
    @Test func carriesBytesBothWaysAndLogsThem() async throws {
        let origin = try await TestOrigin(echoes: true)
        try await RelayFixture.with { fixture in
            let client = try await fixture.tunnel(to: origin.port)
            client.send("hello")
            #expect(try await client.read(5) == Array("hello".utf8))
            client.closeOutput()
            #expect(try await client.rest().isEmpty)
            #expect(try await eventually { fixture.relay.tunnelCount == 0 })
            let line = try #require(fixture.log.lines.first)
            #expect(
                line == "Tunnel address=127.0.0.1 down=5 instance=one result=ended target=127.0.0.1:\(origin.port) up=5"
            )
        }
        try await origin.close()
    }

    @Test func bytesSentBehindTheHeadReachTheServer() async throws {
        let origin = try await TestOrigin(echoes: true)
        try await RelayFixture.with { fixture in
            let client = try await fixture.connect()
            client.send("CONNECT 127.0.0.1:\(origin.port) HTTP/1.1\r\nHost: a\r\n\r\nearly")
            client.closeOutput()
            _ = try await client.head()
            #expect(try await client.rest() == Array("early".utf8))
        }
        try await origin.close()
    }

    @Test func aServersNameIsResolvedAndDialled() async throws {
        let origin = try await TestOrigin(echoes: true)
        try await RelayFixture.with { fixture in
            let client = try await fixture.tunnel(to: origin.port, host: "Intranet.Corp.Example")
            client.send("x")
            #expect(try await client.read(1) == [120])
        }
        try await origin.close()
    }

    @Test func tunnelsComeFromTheEgressAddress() async throws {
        let origin = try await TestOrigin()
        try await RelayFixture.with(configure: { $0.egress = IPAddress("127.0.0.7") }) { fixture in
            let client = try await fixture.tunnel(to: origin.port)
            let server = try await origin.accept()
            #expect(server.channel.remoteAddress?.ipAddress == "127.0.0.7")
            client.close()
        }
        try await origin.close()
    }

    @Test func twoHundredTunnelsAtOnce() async throws {
        let origin = try await TestOrigin(echoes: true)
        // All connections come from one address, and none is authenticated when it arrives.
        var limits = ConnectionLimits()
        limits.perSource = 200
        try await RelayFixture.with(limits: limits) { fixture in
            let identity = try fixture.authority.client()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<200 {
                    group.addTask {
                        let client = try await fixture.connect(as: identity)
                        client.send("CONNECT 127.0.0.1:\(origin.port) HTTP/1.1\r\nHost: a\r\n\r\n")
                        let head = try await client.head()
                        #expect(head.hasPrefix("HTTP/1.1 200"))
                        let bytes = [UInt8](repeating: UInt8(number), count: 10_000)
                        client.send(bytes)
                        #expect(try await client.read(bytes.count) == bytes)
                        client.closeOutput()
                        #expect(try await client.rest().isEmpty)
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await eventually { fixture.relay.tunnelCount == 0 })
        }
        try await origin.close()
    }

    @Test func aRenewedCertificateServesNewConnections() async throws {
        let origin = try await TestOrigin(echoes: true)
        try await RelayFixture.with { fixture in
            let open = try await fixture.tunnel(to: origin.port)
            try fixture.relay.use(RelayFixture.identity(fixture.authority), trust: [fixture.authority.der])
            _ = try await fixture.tunnel(to: origin.port)
            open.send("still")
            #expect(try await open.read(5) == Array("still".utf8))
            #expect(throws: GatewayError(.invalid, "")) {
                try fixture.relay.use(RelayIdentity(certificates: [[1]], privateKey: Redacted("x")), trust: [])
            }
        }
        try await origin.close()
    }
}

// MARK: Refusals

@Suite(.timeLimit(.minutes(2))) struct RelayRefusalTests {
    @Test func thePolicysRefusalIsAnswered() async throws {
        try await RelayFixture.with { fixture in
            fixture.policy.set(StubPolicy.denied)
            let answer = try await fixture.refusal(connecting: "a.example:443")
            #expect(answer.hasPrefix("HTTP/1.1 403 Forbidden\r\n"))
            #expect(answer.contains("Proxy-Status: sallyport;error=http_request_denied;details=\"Not for you.\"\r\n"))
            #expect(answer.hasSuffix("\r\n\r\nNot for you.\n"))
        }
    }

    @Test(arguments: ["127.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.1"])
    func aNameThatTurnsToAForbiddenAddressIsRefusedAtTheNextConnect(address: String) async throws {
        let origin = try await TestOrigin(echoes: true)
        try await RelayFixture.with { fixture in
            _ = try await fixture.tunnel(to: origin.port, host: "rebound.example")
            fixture.policy.set(.allowed(instance: "one", address: nil, mayBeLocal: false))
            fixture.resolver.set([address])
            let answer = try await fixture.refusal(connecting: "rebound.example:\(origin.port)")
            #expect(answer.hasPrefix("HTTP/1.1 502"))
            #expect(answer.contains("error=destination_ip_prohibited"))
        }
        try await origin.close()
    }

    /// Even if the entry may be local, as with `--address`.
    @Test(arguments: ["127.0.0.9", "::ffff:127.0.0.9", "64:ff9b::127.0.0.9", "2002:7f00:9::1"], [false, true])
    func aNameThatLeadsToADeniedAddressIsRefusedAtTheNextConnect(address: String, isSaid: Bool) async throws {
        let origin = try await TestOrigin(echoes: true)
        try await RelayFixture.with { fixture in
            _ = try await fixture.tunnel(to: origin.port, host: "rebound.example")
            let rules = RoutingTable(denying: try [#require(IPNetwork("127.0.0.9/32"))]).addresses
            let said = isSaid ? IPAddress(address) : nil
            fixture.policy.set(.allowed(instance: "one", address: said, mayBeLocal: true, rules: rules))
            if !isSaid {
                _ = try await fixture.tunnel(to: origin.port, host: "rebound.example")
                fixture.resolver.set(["127.0.0.1", address])
            }
            let answer = try await fixture.refusal(connecting: "rebound.example:\(origin.port)")
            #expect(answer.hasPrefix("HTTP/1.1 502") && answer.contains("error=destination_ip_prohibited"))
            #expect(
                answer.contains("details=\"The name leads to a denied address: network 127.0.0.9/32.\""), "\(answer)")
        }
        try await origin.close()
    }

    /// Even without any denied address: these are neither link-local nor addresses of the gateway.
    @Test(arguments: ["100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"])
    func aNameThatLeadsToAMetadataServiceIsRefused(address: String) async throws {
        try await RelayFixture.with { fixture in
            fixture.policy.set(.allowed(instance: "one", address: nil, mayBeLocal: false))
            fixture.resolver.set([address])
            let answer = try await fixture.refusal(connecting: "a.example:80")
            #expect(answer.contains("error=destination_ip_prohibited"))
            #expect(answer.contains("denied address: cloud metadata."), "\(answer)")
        }
    }

    /// A target that is an address was judged together with its route.
    @Test func aServerThatIsDeniedByItsAddressIsNotPassedByAName() async throws {
        let origin = try await TestOrigin(echoes: true)
        try await RelayFixture.with { fixture in
            let server = try Endpoint("127.0.0.1:\(origin.port)")
            let rules = RoutingTable(servers: [.init(server, route: .deny)]).addresses
            fixture.policy.set(.allowed(instance: "one", address: nil, mayBeLocal: true, rules: rules))
            let answer = try await fixture.refusal(connecting: "a.example:\(origin.port)")
            #expect(answer.contains("denied address: server \(server)."), "\(answer)")
            _ = try await fixture.tunnel(to: origin.port)
        }
        try await origin.close()
    }

    @Test func anAddressLiteralIsCheckedToo() async throws {
        try await RelayFixture.with { fixture in
            fixture.policy.set(.allowed(instance: "one", address: nil, mayBeLocal: false))
            let answer = try await fixture.refusal(connecting: "0x7f.1:80")
            #expect(answer.contains("error=destination_ip_prohibited"))
        }
    }

    @Test func aRefusedConnectionIsReported() async throws {
        let origin = try await TestOrigin()
        try await origin.close()
        try await RelayFixture.with { fixture in
            let answer = try await fixture.refusal(connecting: "a.example:\(origin.port)")
            #expect(answer.hasPrefix("HTTP/1.1 502"))
            #expect(answer.contains("error=connection_refused"))
            #expect(fixture.relay.tunnelCount == 0)
        }
    }

    @Test func aNameThatIsNotResolvedInTime() async throws {
        let silent = StubResolver(nil)
        try await RelayFixture.with(resolver: silent, configure: { $0.dialTimeout = .milliseconds(100) }) { fixture in
            let answer = try await fixture.refusal(connecting: "a.example:443")
            #expect(answer.hasPrefix("HTTP/1.1 504"))
            #expect(answer.contains("error=dns_timeout"))
            #expect(silent.isWanted == false)
        }
    }

    @Test func aNameWithoutAddresses() async throws {
        try await RelayFixture.with(resolver: StubResolver([])) { fixture in
            let answer = try await fixture.refusal(connecting: "a.example:443")
            #expect(answer.contains("error=dns_error"))
        }
    }

    @Test func anEgressAddressOfTheOtherFamily() async throws {
        try await RelayFixture.with(configure: { $0.egress = IPAddress("::1") }) { fixture in
            let answer = try await fixture.refusal(connecting: "a.example:443")
            #expect(answer.contains("error=destination_ip_unroutable"))
        }
    }

    @Test func oneTunnelOverTheLimit() async throws {
        let origin = try await TestOrigin(echoes: true)
        try await RelayFixture.with(configure: { $0.maximumTunnels = 2 }) { fixture in
            let first = try await fixture.tunnel(to: origin.port)
            _ = try await fixture.tunnel(to: origin.port)
            let answer = try await fixture.refusal(connecting: "a.example:\(origin.port)")
            #expect(answer.hasPrefix("HTTP/1.1 503"))
            #expect(answer.contains("error=connection_limit_reached"))
            fixture.policy.set(.allowed(instance: "two", address: nil, mayBeLocal: true))
            _ = try await fixture.tunnel(to: origin.port)
            fixture.policy.set(.allowed(instance: "one", address: nil, mayBeLocal: true))
            first.close()
            #expect(try await eventually { fixture.relay.tunnelCount == 2 })
            _ = try await fixture.tunnel(to: origin.port)
        }
        try await origin.close()
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 405), ("CONNECT a HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("garbage\n", 400), ("\u{0}\u{1}\u{2}\r\n\r\n", 400), ("CONNECT a:1 HTTP/3.0\r\n\r\n", 505),
        ("CONNECT a:1 HTTP/1.1\r\nX: " + String(repeating: "x", count: 8192), 431),
    ])
    func malformedRequestsAreAnswered(head: String, status: Int) async throws {
        try await RelayFixture.with { fixture in
            let answer = try await fixture.refusal(of: head)
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "))
            #expect(answer.contains("Proxy-Status: sallyport;error=http_request_error"))
        }
    }

    @Test func aSlowHeadIsTimedOut() async throws {
        // Time enough to begin it: a client that has said nothing gets no answer.
        try await RelayFixture.with(limits: .slow(requestTime: .seconds(3))) { fixture in
            let answer = try await fixture.refusal(of: "CONNECT a.exa")
            #expect(answer.hasPrefix("HTTP/1.1 408"))
        }
    }

    @Test func aClientThatSaysNothingIsTimedOut() async throws {
        try await RelayFixture.with(limits: .slow(requestTime: .seconds(2))) { fixture in
            let client = try await fixture.connect()
            await #expect(throws: (any Error).self) { try await client.rest(within: .seconds(20)) }
        }
    }

    @Test func aClientThatDoesNotEvenShakeHandsIsTimedOut() async throws {
        try await RelayFixture.with(limits: .slow(handshakeTime: .milliseconds(200))) { fixture in
            let client = try await TestConnection.openPlain(port: fixture.port)
            await #expect(throws: (any Error).self) { try await client.rest(within: .seconds(5)) }
        }
    }

    @Test func theOldestStrangerGivesWayAndTunnelsDoNot() async throws {
        let origin = try await TestOrigin(echoes: true)
        var limits = ConnectionLimits.slow()
        limits.perSource = 2
        try await RelayFixture.with(limits: limits) { fixture in
            let client = try await fixture.tunnel(to: origin.port)
            var strangers: [TestConnection] = []
            for count in 1...5 {
                strangers.append(try await TestConnection.openPlain(port: fixture.port))
                // One after another, since loops accept connections in any order.
                #expect(try await eventually { fixture.connections.unauthenticatedCount == min(count, 2) })
                #expect(try await eventually { strangers.count { $0.isOpen } == min(count, 2) })
            }
            #expect(strangers.map(\.isOpen) == [false, false, false, true, true])
            client.send("x")
            #expect(try await client.read(1) == [120])
            #expect(fixture.connections.authenticatedCount == 1)
        }
        try await origin.close()
    }

    @Test func oneInstanceHasAsManyConnectionsAsItMay() async throws {
        let origin = try await TestOrigin(echoes: true)
        var limits = ConnectionLimits.slow()
        limits.perInstance = 1
        try await RelayFixture.with(limits: limits) { fixture in
            let client = try await fixture.tunnel(to: origin.port)
            await #expect(throws: (any Error).self) { try await fixture.tunnel(to: origin.port) }
            client.send("x")
            #expect(try await client.read(1) == [120])
            client.close()
            #expect(try await eventually { fixture.connections.authenticatedCount == 0 })
            _ = try await fixture.tunnel(to: origin.port)
        }
        try await origin.close()
    }

    @Test func withoutADescriptorForTheServerNoneIsDialled() async throws {
        let origin = try await TestOrigin(echoes: true)
        var limits = ConnectionLimits.slow()
        // One for the tunnel's client, and none for its server.
        limits.descriptors.all = 1
        try await RelayFixture.with(limits: limits) { fixture in
            let answer = try await fixture.refusal(connecting: "127.0.0.1:\(origin.port)")
            #expect(answer.hasPrefix("HTTP/1.1 503"))
            #expect(answer.contains("error=connection_limit_reached"))
        }
        try await origin.close()
    }

    @Test func aPlainHTTPRequestIsNotAnswered() async throws {
        try await RelayFixture.with { fixture in
            let client = try await TestConnection.openPlain(port: fixture.port)
            client.send("CONNECT a.example:443 HTTP/1.1\r\nHost: a\r\n\r\n")
            let answer = try? await client.rest(within: .seconds(5))
            #expect(!String(decoding: answer ?? [], as: UTF8.self).contains("HTTP/1.1"))
            #expect(fixture.relay.tunnelCount == 0)
        }
    }

    @Test func onlyTheAuthoritysClientCertificatesPass() async throws {
        try await RelayFixture.with { fixture in
            let stranger = try TestAuthority().client()
            let server = try fixture.authority.server()
            let expired = try fixture.authority.client(validity: .expired)
            for identity in [stranger, server, expired] {
                await #expect(throws: (any Error).self) {
                    let client = try await fixture.connect(as: identity)
                    client.send("CONNECT a.example:443 HTTP/1.1\r\nHost: a\r\n\r\n")
                    _ = try await client.head()
                }
            }
            await #expect(throws: (any Error).self) {
                let client = try await TestConnection.open(
                    port: fixture.port, trust: fixture.authority, identity: nil)
                client.send("CONNECT a.example:443 HTTP/1.1\r\nHost: a\r\n\r\n")
                _ = try await client.head()
            }
        }
    }

    @Test func theLogHoldsNothingOfTheHeadBesidesTheTarget() async throws {
        try await RelayFixture.with { fixture in
            fixture.policy.set(StubPolicy.denied)
            _ = try await fixture.refusal(
                of: "CONNECT a.example:443 HTTP/1.1\r\nHost: a\r\nProxy-Authorization: Basic planted\r\n\r\n")
            _ = try await fixture.refusal(of: "GET /planted HTTP/1.1\r\nHost: planted\r\n\r\n")
            #expect(fixture.log.lines.count == 2)
            #expect(fixture.log.lines.first?.contains("target=a.example:443") == true)
            #expect(!fixture.log.lines.joined().contains("planted"))
        }
    }
}

// MARK: Ends

@Suite(.timeLimit(.minutes(2))) struct RelayEndTests {
    @Test func theClientsCloseNotifyIsAFINAndTheAnswerStillFlows() async throws {
        let origin = try await TestOrigin()
        try await RelayFixture.with { fixture in
            let client = try await fixture.tunnel(to: origin.port)
            let server = try await origin.accept()
            client.send("question")
            client.closeOutput()
            #expect(try await server.rest() == Array("question".utf8))
            server.send("answer")
            server.closeOutput()
            #expect(try await client.rest() == Array("answer".utf8))
        }
        try await origin.close()
    }

    @Test func theServersFINIsACloseNotifyAndTheClientMaySendOn() async throws {
        let origin = try await TestOrigin()
        try await RelayFixture.with { fixture in
            let client = try await fixture.tunnel(to: origin.port)
            let server = try await origin.accept()
            server.send("first")
            server.closeOutput()
            #expect(try await client.rest() == Array("first".utf8))
            client.send("later")
            client.closeOutput()
            #expect(try await server.rest() == Array("later".utf8))
            #expect(try await eventually { fixture.log.lines.contains { $0.contains("result=ended") } })
        }
        try await origin.close()
    }

    @Test(arguments: [true, false])
    func aSlowReaderGetsAllBeforeTheEnd(clientEndsFirst: Bool) async throws {
        let origin = try await TestOrigin()
        try await RelayFixture.with { fixture in
            let client = try await fixture.tunnel(to: origin.port)
            let server = try await origin.accept()
            if clientEndsFirst {
                client.closeOutput()
                _ = try await server.rest()
            }
            try await client.pauseReading()
            let bytes = [UInt8](repeating: 7, count: 16 << 20)
            server.send(bytes)
            server.closeOutput()
            // The relay takes what its buffers and the sockets' hold; the rest waits with the server.
            let buffered = Lock(-1)
            #expect(
                try await eventually {
                    server.channel.eventLoop.execute {
                        let left = try? server.channel.syncOptions?.getOption(.bufferedWritableBytes)
                        buffered.withLock { $0 = left ?? -1 }
                    }
                    return buffered.withLock { $0 } > 0
                })
            try await client.resumeReading()
            #expect(try await client.rest().count == bytes.count)
            if !clientEndsFirst { client.closeOutput() }
        }
        try await origin.close()
    }

    @Test func neitherReadsAndBothGetAllBeforeTheEnd() async throws {
        let origin = try await TestOrigin()
        try await RelayFixture.with { fixture in
            let client = try await fixture.tunnel(to: origin.port)
            let ends = [client, try await origin.accept()]
            for end in ends { try await end.pauseReading() }
            let bytes = Payload.bytes(16 << 20)
            for end in ends {
                end.send(bytes)
                end.closeOutput()
            }
            // Both ways are full.
            for end in ends {
                #expect(
                    try await eventually { try await end.channel.getOption(.bufferedWritableBytes).get() > 0 })
            }
            for end in ends { try await end.resumeReading() }
            for end in ends { #expect(try await end.rest() == bytes) }
            let line = "down=\(bytes.count) instance=one result=ended"
            #expect(try await eventually { fixture.log.lines.contains { $0.contains(line) } })
            #expect(fixture.log.lines.contains { $0.contains("up=\(bytes.count)") })
        }
        try await origin.close()
    }

    @Test func aClientThatFailsResetsTheServersSide() async throws {
        let origin = try await TestOrigin()
        try await RelayFixture.with { fixture in
            let client = try await fixture.tunnel(to: origin.port)
            let server = try await origin.accept()
            client.drop()
            await #expect(throws: (any Error).self) { try await server.rest() }
            #expect(try await eventually { fixture.log.lines.contains { $0.contains("result=client-failed") } })
        }
        try await origin.close()
    }

    @Test func aFINWithoutCloseNotifyIsAnError() async throws {
        let origin = try await TestOrigin()
        try await RelayFixture.with { fixture in
            let client = try await fixture.tunnel(to: origin.port)
            let server = try await origin.accept()
            client.channel.eventLoop.execute {
                let below = try? client.channel.pipeline.syncOperations.context(handlerType: DrainingCloseHandler.self)
                below?.close(mode: .output, promise: nil)
            }
            await #expect(throws: (any Error).self) { try await server.rest() }
        }
        try await origin.close()
    }

    @Test func aServerThatResetsLeavesTheClientWithoutCloseNotify() async throws {
        let origin = try await TestOrigin()
        try await RelayFixture.with { fixture in
            let client = try await fixture.tunnel(to: origin.port)
            let server = try await origin.accept()
            server.drop()
            await #expect(throws: (any Error).self) { try await client.rest() }
            #expect(try await eventually { fixture.log.lines.contains { $0.contains("result=server-failed") } })
        }
        try await origin.close()
    }

    @Test func withdrawnTunnelsEndWithinASecond() async throws {
        let origin = try await TestOrigin(echoes: true)
        try await RelayFixture.with { fixture in
            let client = try await fixture.tunnel(to: origin.port)
            fixture.relay.policyChanged()
            client.send("kept")
            #expect(try await client.read(4) == Array("kept".utf8))
            fixture.policy.set(StubPolicy.denied)
            let start = ContinuousClock.now
            fixture.relay.policyChanged()
            await #expect(throws: (any Error).self) { try await client.rest() }
            #expect(ContinuousClock.now - start < Soak.second)
            #expect(fixture.log.lines.contains { $0.contains("result=withdrawn") })
        }
        try await origin.close()
    }

    @Test(arguments: [
        RelayVerdict.allowed(instance: "one", address: IPAddress("10.0.0.1"), mayBeLocal: true),
        .allowed(instance: "one", address: nil, mayBeLocal: false),
        .allowed(
            instance: "one", address: nil, mayBeLocal: true,
            rules: RoutingTable(denying: IPNetwork("127.0.0.0/8").map { [$0] } ?? []).addresses),
    ])
    func aTunnelThatNoLongerLeadsWhereThePolicySaysEnds(verdict: RelayVerdict) async throws {
        let origin = try await TestOrigin(echoes: true)
        try await RelayFixture.with { fixture in
            let client = try await fixture.tunnel(to: origin.port, host: "a.example")
            fixture.policy.set(verdict)
            fixture.relay.policyChanged()
            await #expect(throws: (any Error).self) { try await client.rest() }
            #expect(fixture.log.lines.contains { $0.contains("result=withdrawn") }, "\(fixture.log.lines)")
        }
        try await origin.close()
    }

    @Test func anIdleTunnelIsTimedOutAndABusyOneIsNot() async throws {
        let origin = try await TestOrigin(echoes: true)
        // Wide margins: a busy machine is late by a second and more.
        try await RelayFixture.with(configure: { $0.idleTimeout = .seconds(5) }) { fixture in
            let client = try await fixture.tunnel(to: origin.port)
            client.send("x", times: 12, every: .milliseconds(500))
            #expect(try await client.read(12).count == 12)
            await #expect(throws: (any Error).self) { try await client.rest(within: .seconds(15)) }
            #expect(fixture.log.lines.contains { $0.contains("result=idle") })
        }
        try await origin.close()
    }

    @Test func shutdownEndsOpenTunnelsAndIsIdempotent() async throws {
        let origin = try await TestOrigin(echoes: true)
        try await RelayFixture.with { fixture in
            let client = try await fixture.tunnel(to: origin.port)
            await fixture.relay.shutdown()
            await #expect(throws: (any Error).self) { try await client.rest() }
            await fixture.relay.shutdown()
            await #expect(throws: (any Error).self) { try await fixture.connect() }
            await #expect(throws: GatewayError(.ended, "")) { try await fixture.relay.start() }
        }
        try await origin.close()
    }

    @Test func aCancelledRunShutsDown() async throws {
        try await RelayFixture.with { fixture in
            let run = Task { try await fixture.relay.run() }
            run.cancel()
            try await run.value
            await #expect(throws: (any Error).self) { try await fixture.connect() }
        }
    }

    @Test func aPolicyThatChangesWhileTheServerIsDialledOpensNothing() async throws {
        let origin = try await TestOrigin(echoes: true)
        let resolver = StubResolver(nil)
        try await RelayFixture.with(resolver: resolver) { fixture in
            resolver.whileResolving { [policy = fixture.policy, weak relay = fixture.relay] in
                policy.set(StubPolicy.denied)
                relay?.policyChanged()
                return [RelayFixture.loopback]
            }
            let answer = try await fixture.refusal(connecting: "a.example:\(origin.port)")
            #expect(answer.hasPrefix("HTTP/1.1 403"))
            #expect(fixture.relay.tunnelCount == 0)
        }
        try await origin.close()
    }

    @Test func aTakenPortCannotBeBound() async throws {
        try await RelayFixture.with { fixture in
            var configuration = RelayConfiguration(
                host: RelayFixture.loopback, port: fixture.port, trust: [try fixture.authority.der])
            configuration.drainTime = .zero
            let second = try Relay(
                configuration: configuration, identity: RelayFixture.identity(fixture.authority),
                policy: fixture.policy, connections: fixture.connections, logger: Logger(label: "relay"))
            await #expect(throws: GatewayError(.cannotBind, "")) { try await second.start() }
            await second.shutdown()
        }
    }
}
