import Glibc
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportSocket

/// TLS that begins on an open stream, direct and through a relay, against servers that consent to it as SMTP's do.
@Suite(.timeLimit(.minutes(1)))
struct StartTLSTests {
    private let world: World
    private let app: SocketApp

    init() throws {
        world = try World()
        app = try SocketApp(in: world)
    }

    /// Greets, consents to STARTTLS, and makes the handshake.
    private func server(
        _ tls: TestTLS? = nil, adding injected: String = "",
        serve: @escaping @Sendable (TestTLSConnection) -> Void = { _ in },
        before: @escaping @Sendable (TestConnection) -> Void = { _ in }, failed: @escaping @Sendable () -> Void = {}
    ) throws -> TestServer {
        let tls = tls ?? world.originTLS
        return try TestServer { connection in
            connection.write("220 ready\r\n")
            guard Self.line(connection) == "STARTTLS\r\n" else { return }
            connection.write("220 go ahead\r\n" + injected)
            before(connection)
            guard let client = tls.accept(connection) else { return failed() }
            serve(client)
        }
    }

    private static func line(_ connection: TestConnection) -> String {
        var line: [UInt8] = []
        while line.last != UInt8(ascii: "\n"), case let byte = connection.read(upTo: 1), !byte.isEmpty { line += byte }
        return String(decoding: line, as: UTF8.self)
    }

    /// A stream whose server has consented to STARTTLS.
    private func consented(
        _ server: TestServer, _ change: (inout SocketConfiguration) throws -> Void = { _ in }
    ) async throws -> ByteStream {
        let stream = try await app.open(server, isSecure: false, change)
        #expect(try await stream.line() == "220 ready\r\n")
        try await stream.write("STARTTLS\r\n")
        #expect(try await stream.line() == "220 go ahead\r\n")
        return stream
    }

    private func failure(
        _ server: TestServer, _ start: TLSStart = TLSStart(),
        _ change: (inout SocketConfiguration) throws -> Void = { _ in }
    ) async throws -> LoadError? {
        let stream = try await consented(server, change)
        do throws(LoadError) {
            try await stream.startTLS(start)
            return nil
        } catch {
            #expect(!stream.isSecure)
            return error
        }
    }

    // MARK: Bytes

    @Test(arguments: [false, true])
    func tlsBeginsOnAnOpenStream(_ isRelayed: Bool) async throws {
        let seen = Lock<[UInt8]>([])
        let server = try server { client in
            let bytes = client.readAll()
            seen.withLock { $0 = client.peerEnded ? bytes : [] }
            for start in stride(from: 0, to: bytes.count, by: 16384) {
                client.write(Array(bytes[start..<min(start + 16384, bytes.count)]))
            }
            client.end()
        }
        let relay = isRelayed ? try world.relayed() : nil
        let stream = try await consented(server)
        #expect(stream.facts.tls == nil && !stream.isSecure)
        try await stream.startTLS()
        #expect(stream.isSecure && stream.facts.tls?.version == "TLSv1.3")
        #expect(stream.facts.tls?.cipher.hasPrefix("TLS_") == true && stream.facts.tls?.certificates.count == 1)
        #expect(stream.facts.decision?.route == (isRelayed ? .relay : .direct))
        #expect(stream.facts.connection.relay?.port == relay?.port)
        let bytes = payload(1_000_000)
        for start in stride(from: 0, to: bytes.count, by: 250_000) {
            try await stream.write(Array(bytes[start..<start + 250_000]))
        }
        stream.closeWrite()
        #expect(try await stream.readAll() == bytes)
        #expect(seen.withLock { $0 } == bytes)
        #expect(server.acceptedConnections == 1 && relay?.acceptedConnections ?? 1 == 1)
        #expect(try await eventually { server.openConnections == 0 })
    }

    /// Bytes written before are sent without TLS and in full; bytes written meanwhile are sent with TLS.
    @Test(arguments: [false, true])
    func writesStayBeforeOrAfterTheHandshake(_ isRelayed: Bool) async throws {
        // More than the buffers of two sockets hold, so it is sent only once the server reads; TLS was requested by
        // then.
        let before = payload(16_000_000)
        let inPlain = Lock<[UInt8]>([])
        let server = try server { client in
            client.write(client.read(upTo: 100))
            client.end()
        } before: { connection in
            usleep(300_000)
            var bytes: [UInt8] = []
            while bytes.count < before.count, case let more = connection.read(upTo: before.count - bytes.count),
                !more.isEmpty
            { bytes += more }
            inPlain.withLock { [bytes] in $0 = bytes }
            usleep(100_000)
        }
        let relay = isRelayed ? try world.relayed() : nil
        let stream = try await consented(server)
        stream.channel.send(before)
        async let securing: Void = stream.startTLS()
        #expect(try await eventually { stream.channel.sentBytes > before.count })
        try await stream.write("secret")
        try await securing
        #expect(try await stream.read() == Array("secret".utf8))
        #expect(inPlain.withLock { $0 } == before)
        _ = relay
    }

    /// An end of TCP alone does not end this TLS regularly, and a reset does not look like a regular end to the server.
    @Test(arguments: [false, true])
    func endsAreThoseOfTLS(_ isRelayed: Bool) async throws {
        let ended = Lock<Bool?>(nil)
        let relay = isRelayed ? try world.relayed() : nil
        let cut = try server { $0.write("half") }
        var stream = try await consented(cut)
        try await stream.startTLS()
        await #expect(throws: LoadError(.connectionLost, "")) { try await stream.readAll() }
        let server = try server { client in
            _ = client.readAll()
            ended.withLock { $0 = client.peerEnded }
        }
        for isRegular in [false, true] {
            ended.withLock { $0 = nil }
            stream = try await consented(server)
            try await stream.startTLS()
            try await stream.write("x")
            if isRegular { stream.close() } else { stream.reset() }
            #expect(try await eventually { ended.withLock { $0 } == isRegular })
        }
        _ = relay
    }

    // MARK: Injection

    /// CVE-2011-0411: bytes that came in plain text must not be read as if they had come through TLS.
    @Test(arguments: [false, true])
    func bytesBeforeTheHandshakeAreRefused(_ isRelayed: Bool) async throws {
        let hasFailed = Lock(false)
        let server = try server(
            adding: "250 injected\r\n", serve: { $0.write("good") }, failed: { hasFailed.withLock { $0 = true } })
        let relay = isRelayed ? try world.relayed() : nil
        let stream = try await consented(server)
        #expect(try await eventually { stream.receivedBytes > "220 ready\r\n220 go ahead\r\n".utf8.count })
        let error = await #expect(throws: LoadError.self) { try await stream.startTLS() }
        #expect(error?.code == .protocolViolation && error?.underlying as? UnreadBytes == UnreadBytes(count: 14))
        #expect(!stream.isSecure)
        #expect(try await eventually { server.openConnections == 0 })
        #expect(hasFailed.withLock { $0 }, "no hello was sent")
        await #expect(throws: LoadError(.protocolViolation, "")) { try await stream.write("secret") }
        _ = relay
    }

    /// Bytes that come while the ClientHello is on its way are not TLS records.
    @Test func bytesInTheMidstOfTheHandshakeAreNoTLS() async throws {
        let server = try server(before: { connection in
            // The ClientHello has come, and is not read yet.
            var hello = pollfd(fd: connection.descriptor, events: Int16(POLLIN), revents: 0)
            _ = poll(&hello, 1, 20_000)
            connection.write("250 injected\r\n")
            usleep(200_000)
        })
        let error = try await failure(server)
        #expect(error?.code == .tlsFailed && error?.step == .serverTLS, "\(String(describing: error))")
    }

    // MARK: Trust

    @Test(arguments: [false, true])
    func aCertificateForAnotherHostIsRefused(_ isRelayed: Bool) async throws {
        let server = try server(TestTLS(world.origin.server(names: ["other.example"])))
        let relay = isRelayed ? try world.relayed() : nil
        let stream = try await consented(server)
        let error = await #expect(throws: LoadError.self) { try await stream.startTLS() }
        #expect(error?.code == .serverNotTrusted && error?.step == .serverTLS)
        #expect((error?.underlying as? ServerTrustEvaluation)?.failure?.reason == .wrongHost)
        await #expect(throws: LoadError(.serverNotTrusted, "")) { try await stream.write("secret") }
        #expect(try await eventually { server.openConnections == 0 })
        #expect(try await failure(server) { $0.disabled = [.host] } == nil)
        _ = relay
    }

    @Test func anotherAuthorityIsRefused() async throws {
        let other = try TestAuthority(name: "Other")
        let server = try server(TestTLS(other.server(names: ["localhost"], addresses: [.v4(0x7f00_0001)])))
        let error = try await failure(server)
        #expect((error?.underlying as? ServerTrustEvaluation)?.failure?.reason == .unknownAuthority)
        #expect(try await failure(server) { $0.disabled = [.host, .peer] } == nil)
    }

    @Test func pinsHold() async throws {
        let server = try server()
        let (good, other) = (PublicKeyPin(sha256: world.origin.publicKeySHA256)!, PublicKeyPin(sha256: Array(0..<32))!)
        #expect(try await failure(server) { try $0.pin(to: good, backups: [other]) } == nil)
        let error = try await failure(server) { try $0.pin(to: other, backups: [PublicKeyPin(sha256: Array(1..<33))!]) }
        #expect(error?.code == .serverNotTrusted)
    }

    @Test func aClientCertificateIsShown() async throws {
        let clients = try TestAuthority(name: "Clients")
        let seen = Lock<[UInt8]?>(nil)
        let tls = try TestTLS(
            world.origin.server(names: ["localhost"], addresses: [.v4(0x7f00_0001)]), requiring: clients)
        let server = try server(tls) { client in
            seen.withLock { $0 = client.peerCertificate }
            client.write("x")
            _ = client.read()
        }
        let identity = try clients.client()
        let showing = try identity.clientIdentity
        let stream = try await consented(server) { $0.clientIdentity = showing }
        try await stream.startTLS()
        #expect(try await stream.read() == Array("x".utf8))
        let shown = try identity.der
        #expect(seen.withLock { $0 } == shown)
        // With TLS 1.3, the server reports it only after the handshake.
        let without = try await consented(server)
        let error = await #expect(throws: LoadError.self) {
            try await without.startTLS()
            _ = try await without.read()
        }
        #expect(error?.code == .clientCertificateRefused)
    }

    @Test func anApplicationProtocolIsChosen() async throws {
        var tls = world.originTLS
        tls.applicationProtocol = "imap"
        let server = try server(tls) { _ = $0.read() }
        let stream = try await consented(server)
        try await stream.startTLS(TLSStart(applicationProtocols: ["pop3", "imap"]))
        #expect(stream.facts.tls?.applicationProtocol == "imap")
        let configured = try await consented(server) { $0.applicationProtocols = ["imap"] }
        try await configured.startTLS()
        #expect(configured.facts.tls?.applicationProtocol == "imap")
        #expect(try await failure(server, TLSStart(applicationProtocols: [""]))?.code == .invalidRequest)
    }

    // MARK: Versions

    /// A second attempt would need a second connection.
    @Test func lowerVersionsAreNotTried() async throws {
        let old = try SocketApp(in: World(), added: TLSVersions([.tls11]))
        var tls = old.world.originTLS
        tls.version = .tls11
        let server = try server(tls)
        let stream = try await old.open(server, isSecure: false)
        _ = try await stream.line()
        try await stream.write("STARTTLS\r\n")
        _ = try await stream.line()
        let error = await #expect(throws: LoadError.self) { try await stream.startTLS() }
        #expect(error?.code == .noCommonTLSVersion && server.acceptedConnections == 1)
    }

    @Test func blocksOfThePolicyHold() async throws {
        var tls = world.originTLS
        tls.version = .tls12
        let server = try server(tls) { _ = $0.read() }
        #expect(try await failure(server) == nil)
        let relay = try world.relayed(blocking: [.tls12])
        #expect(try await failure(server)?.code == .noCommonTLSVersion)
        _ = relay
    }

    @Test func aNewPolicyThatBlocksTheVersionEndsTheStream() async throws {
        var tls = world.originTLS
        tls.version = .tls12
        let server = try server(tls) { _ = $0.read() }
        let relay = try world.relayed()
        let stream = try await consented(server)
        try await stream.startTLS()
        let other = try world.relayed(blocking: [.tls12])
        await #expect(throws: LoadError(.refusedByPolicy, "")) { try await stream.read() }
        _ = (relay, other)
    }

    // MARK: Ends

    @Test(arguments: [false, true])
    func aWithdrawalDuringTheHandshakeEndsItWithItsCode(_ isRelayed: Bool) async throws {
        let server = try server(before: { $0.awaitEnd() })
        let relay = isRelayed ? try world.relayed() : nil
        let stream = try await consented(server)
        let securing = Task { try await stream.startTLS() }
        try await Task.sleep(for: .milliseconds(100))
        world.gate.withdraw(.blocked)
        let error = await #expect(throws: LoadError.self) { try await securing.value }
        #expect(error?.code == .withdrawn && (error?.underlying as? AccessDenied)?.code == .blocked)
        await #expect(throws: LoadError(.withdrawn, "")) { try await stream.write("x") }
        #expect(try await eventually { server.openConnections == 0 })
        _ = relay
    }

    @Test func aPolicyThatRefusesTheServerEndsTheHandshake() async throws {
        let server = try server(before: { $0.awaitEnd() })
        let stream = try await consented(server)
        let securing = Task { try await stream.startTLS() }
        try await Task.sleep(for: .milliseconds(100))
        world.gate.route(by: RoutingTable(default: .deny))
        await #expect(throws: LoadError(.refusedByPolicy, "")) { try await securing.value }
        #expect(try await eventually { server.openConnections == 0 })
    }

    @Test func aServerThatDoesNotAnswerIsGivenUp() async throws {
        let server = try server(before: { $0.awaitEnd() })
        let error = try await failure(server, TLSStart(timeout: .milliseconds(200)))
        #expect(error?.code == .idleTimeout && error?.step == .serverTLS)
        #expect(try await eventually { server.openConnections == 0 })
    }

    /// The stream has neither an idle time-out nor a lifetime that would end it.
    @Test func aServerThatDoesNotReadWhatCameBeforeIsGivenUp() async throws {
        let server = try server(before: { connection in
            // Nothing is read until the client's reset has come.
            var end = pollfd(fd: connection.descriptor, events: 0, revents: 0)
            _ = poll(&end, 1, 30_000)
        })
        let stream = try await consented(server)
        // More than the buffers of two sockets hold.
        stream.channel.send(payload(16_000_000))
        let error = await #expect(throws: LoadError.self) {
            try await stream.startTLS(TLSStart(timeout: .milliseconds(200)))
        }
        #expect(error?.code == .idleTimeout && error?.step == .serverTLS, "\(String(describing: error))")
        await #expect(throws: LoadError(.idleTimeout, "")) { try await stream.write("x") }
        #expect(try await eventually { server.openConnections == 0 })
    }

    @Test(arguments: [false, true])
    func aConnectionThatEndsInTheHandshakeIsLost(_ isRelayed: Bool) async throws {
        let relay = isRelayed ? try world.relayed() : nil
        let server = try TestServer { connection in
            connection.write("220 ready\r\n")
            _ = Self.line(connection)
            connection.write("220 go ahead\r\n")
            _ = connection.read()
        }
        let error = try await failure(server)
        #expect(error?.code == .connectionLost && error?.step == .serverTLS, "\(String(describing: error))")
        _ = relay
    }

    /// Our side has read everything by then: closed in peace, the connection would end with a FIN.
    @Test func aHandshakeThatFailsResetsTheStream() async throws {
        let isReset = Lock<Bool?>(nil)
        let server = try server(before: { connection in
            // The alert handshake_failure answers the ClientHello.
            _ = connection.read()
            connection.write([21, 3, 3, 0, 2, 2, 40])
            var end = pollfd(fd: connection.descriptor, events: 0, revents: 0)
            _ = poll(&end, 1, 10_000)
            let hasError = end.revents & Int16(POLLERR) != 0
            isReset.withLock { $0 = hasError }
        })
        let error = try await failure(server)
        #expect(error?.code == .tlsFailed && error?.step == .serverTLS, "\(String(describing: error))")
        #expect(try await eventually { isReset.withLock { $0 } != nil })
        #expect(isReset.withLock { $0 } == true)
    }

    @Test func cancellingResetsTheStream() async throws {
        let server = try server(before: { $0.awaitEnd() })
        let stream = try await consented(server)
        let securing = Task { try await stream.startTLS() }
        try await Task.sleep(for: .milliseconds(100))
        securing.cancel()
        await #expect(throws: LoadError(.cancelled, "")) { try await securing.value }
        await #expect(throws: LoadError(.connectionLost, "")) { try await stream.write("x") }
        #expect(try await eventually { server.openConnections == 0 })
    }

    // MARK: Calls that are refused

    @Test func tlsBeginsOnceAndOnlyOnAnIdleOpenStream() async throws {
        let isOver = Lock(false)
        defer { isOver.withLock { $0 = true } }
        // The third connection stays open though its client ends its side, which fails the handshake.
        let server = try server(
            serve: { client in
                client.write("in TLS")
                _ = client.readAll()
            },
            failed: { for _ in 0..<10_000 where !isOver.withLock({ $0 }) { usleep(1000) } })
        let stream = try await consented(server)
        let reading = Task { try await stream.read() }
        #expect(try await eventually { stream.channel.isBeingRead })
        await #expect(throws: LoadError(.invalidRequest, "")) { try await stream.startTLS() }
        reading.cancel()
        _ = try? await reading.value
        let second = try await consented(server)
        try await second.startTLS()
        await #expect(throws: LoadError(.invalidRequest, "")) { try await second.startTLS() }
        // Refused calls change nothing.
        #expect(try await second.read() == Array("in TLS".utf8))
        let third = try await consented(server)
        third.closeWrite()
        await #expect(throws: LoadError(.invalidRequest, "")) { try await third.startTLS() }
    }

    // MARK: Another implementation's server

    /// Python's `ssl` behind SMTP's commands, called as its library's client is served.
    @Test(arguments: [false, true])
    func aMailServerSpeaksTLSWhenItIsAskedTo(_ isRelayed: Bool) async throws {
        let folder = try TemporaryDirectory()
        let identity = try world.origin.server(names: ["localhost"], addresses: [.v4(0x7f00_0001)])
        try folder.write(identity.pem + identity.keyPEM, to: "server.pem")
        let script = """
            import socket, ssl, sys
            listener = socket.create_server(("127.0.0.1", 0))
            print(listener.getsockname()[1], flush=True)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(sys.argv[1])
            peer, _ = listener.accept()
            lines = peer.makefile("rw", newline="")
            lines.write("220 mail\\r\\n"); lines.flush()
            lines.readline()
            lines.write("250-mail\\r\\n250 STARTTLS\\r\\n"); lines.flush()
            lines.readline()
            lines.write("220 go ahead\\r\\n"); lines.flush()
            peer = context.wrap_socket(peer, server_side=True)
            lines = peer.makefile("rw", newline="")
            lines.write("250 " + peer.version() + " " + lines.readline()); lines.flush()
            peer.unwrap()
            """
        let mail = try ChildProcess("/usr/bin/env", ["python3", "-c", script, folder.file("server.pem")])
        #expect(try await eventually { mail.output.contains("\n") })
        let port = mail.output.split(separator: "\n")[0]
        let relay = isRelayed ? try world.relayed() : nil
        let stream = try await app.sockets.connect(
            to: "127.0.0.1:\(port)", isSecure: false, app.configuration())
        #expect(try await stream.line() == "220 mail\r\n")
        try await stream.write("EHLO client\r\n")
        #expect(try await stream.line() == "250-mail\r\n")
        #expect(try await stream.line() == "250 STARTTLS\r\n")
        try await stream.write("STARTTLS\r\n")
        #expect(try await stream.line() == "220 go ahead\r\n")
        try await stream.startTLS()
        try await stream.write("EHLO again\r\n")
        #expect(try await stream.line() == "250 TLSv1.3 EHLO again\r\n")
        stream.closeWrite()
        #expect(try await stream.read() == nil)
        _ = relay
    }
}

extension ByteStream {
    /// Reads to the end of a line, and no byte further.
    fileprivate func line() async throws(LoadError) -> String {
        var line: [UInt8] = []
        while line.last != UInt8(ascii: "\n"), let byte = try await read(upTo: 1) { line += byte }
        return String(decoding: line, as: UTF8.self)
    }
}
