import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing
import TransportTestSupport

@testable import SallyportURLLoading

/// Which certificates a server may show (RFC 5280 §6, RFC 9525), and that those which it may not get no request.
@Suite(.timeLimit(.minutes(2)), .onBothEngines) struct CertificateMatrixTests {
    /// What a server shows, and what the client believes in.
    struct Shown: Sendable {
        var chain: [ForgedCertificate]
        var anchors: [ForgedCertificate]

        /// A certificate that an anchor issued.
        static func issued(_ draft: CertificateDraft) throws -> Shown {
            let root = try CertificateDraft.authority("Root").issued()
            return try Shown(chain: [draft.issued(by: root)], anchors: [root])
        }

        /// A certificate below authorities that are sent with it, the lowest first.
        static func issued(_ draft: CertificateDraft, below drafts: CertificateDraft...) throws -> Shown {
            let root = try CertificateDraft.authority("Root").issued()
            var chain: [ForgedCertificate] = []
            for draft in drafts + [draft] { chain.insert(try draft.issued(by: chain.first ?? root), at: 0) }
            return Shown(chain: chain, anchors: [root])
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let host: String
        let make: @Sendable () throws -> Shown

        init(_ name: String, host: String = Self.host, _ make: @escaping @Sendable () throws -> Shown) {
            (self.name, self.host, self.make) = (name, host, make)
        }

        /// A certificate with these names, for this host.
        init(_ names: String, for host: String) {
            self.init("\(names) for \(host)", host: host) { try .issued(.server(names)) }
        }

        static let host = "site.localhost"
        static let server = CertificateDraft.server("DNS:\(host)")
        var testDescription: String { name }
    }

    private static let server = Row.server
    private static let intermediate = CertificateDraft.authority("Intermediate")

    private static let good: [Row] = [
        Row("an issued one") { try .issued(server) },
        Row("RSA of 2048 bits") { try .issued(server.with(.rsa(bits: 2048))) },
        Row("below two others") { try .issued(server, below: .authority("One"), .authority("Two")) },
        Row("out of order") {
            var shown = try Shown.issued(server, below: .authority("One"), .authority("Two"), .authority("Three"))
            shown.chain[1...].reverse()
            return shown
        },
        Row("with the root and with strangers") {
            var shown = try Shown.issued(server, below: intermediate)
            shown.chain.insert(try CertificateDraft.authority("Stranger").issued(), at: 1)
            shown.chain += shown.anchors
            return shown
        },
        Row("constraints that hold") {
            try .issued(server, below: intermediate.with("nameConstraints", "critical,permitted;DNS:\(Row.host)"))
        },
        Row("a path of the length that is allowed") {
            try .issued(server, below: intermediate.with("basicConstraints", "critical,CA:TRUE,pathlen:0"))
        },
        Row("no extended usage") { try .issued(server.with("extendedKeyUsage", nil)) },
        Row("an unknown extension that is not critical") {
            try .issued(server.with("1.3.6.1.4.1.99999.1", "DER:0500"))
        },
        Row("DNS:a.example,DNS:\(Row.host),DNS:b.example", for: Row.host),
        Row("DNS:SITE.LocalHost", for: Row.host),
        Row("DNS:*.example.localhost", for: "www.example.localhost"),
        Row("DNS:*.example.localhost", for: "WWW.example.localhost."),
        Row("DNS:xn--bcher-kva.localhost", for: "bücher.localhost"),
        Row("DNS:*.xn--bcher-kva.localhost", for: "www.bücher.localhost"),
        Row("IP:127.0.0.1", for: "127.0.0.1"),
        Row("IP:127.0.0.1", for: "0x7f.1"),
    ]

    private static let wrongNames: [Row] = [
        Row("DNS:other.localhost", for: Row.host),
        Row("DNS:localhost", for: Row.host),
        Row("DNS:\(Row.host).example", for: Row.host),
        Row("DNS:a.\(Row.host)", for: Row.host),
        Row("DNS:.localhost", for: Row.host),
        Row("URI:https://\(Row.host)/", for: Row.host),
        Row("email:a@\(Row.host)", for: Row.host),
        Row("DNS:*", for: Row.host),
        Row("DNS:*.localhost", for: Row.host),
        Row("DNS:*.example.localhost", for: "example.localhost"),
        Row("DNS:*.example.localhost", for: "a.b.example.localhost"),
        Row("DNS:*.*.example.localhost", for: "a.b.example.localhost"),
        Row("DNS:f*.example.localhost", for: "foo.example.localhost"),
        Row("DNS:*o.example.localhost", for: "foo.example.localhost"),
        Row("DNS:f*o.example.localhost", for: "foo.example.localhost"),
        Row("DNS:www.*.localhost", for: "www.example.localhost"),
        Row("DNS:xn--*.example.localhost", for: "bücher.example.localhost"),
        Row("DNS:b*.localhost", for: "bücher.localhost"),
        Row("DNS:127.0.0.1", for: "127.0.0.1"),
        Row("DNS:*.0.0.1", for: "127.0.0.1"),
        Row("IP:127.0.0.2", for: "127.0.0.1"),
        Row("IP:127.0.0.1", for: "localhost"),
        Row("a common name alone") { try .issued(.server(nil, named: Row.host)) },
        Row("an address as a common name", host: "127.0.0.1") { try .issued(.server(nil, named: "127.0.0.1")) },
        Row("a common name beside names of other kinds") {
            try .issued(.server("email:a@example.com", named: Row.host))
        },
        Row("NUL in a name") {
            let name = Array("\(Row.host)\0.evil.example".utf8)
            let bytes = [0x30, UInt8(name.count + 2), 0x82, UInt8(name.count)] + name
            let text = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: ":")
            return try .issued(server.with("subjectAltName", "DER:" + text))
        },
    ]

    private static let untrusted: [Row] = [
        Row("expired") { try .issued(server.valid(-7200 ... -60)) },
        Row("not yet valid") { try .issued(server.valid(3600...7200)) },
        Row("below an expired one") { try .issued(server, below: intermediate.valid(-7200 ... -60)) },
        Row("of an authority that expired") {
            let root = try CertificateDraft.authority("Root").valid(-7200 ... -60).issued()
            return try Shown(chain: [server.issued(by: root)], anchors: [root])
        },
        Row("of an unknown authority") {
            try Shown(chain: Shown.issued(server).chain, anchors: [CertificateDraft.authority("Root").issued()])
        },
        Row("of an unknown authority that is sent with it") {
            let shown = try Shown.issued(server)
            return try Shown(
                chain: shown.chain + shown.anchors, anchors: [CertificateDraft.authority("Root").issued()])
        },
        Row("signed by itself") {
            try Shown(chain: [server.issued()], anchors: [CertificateDraft.authority("Root").issued()])
        },
        Row("without the one between") {
            let shown = try Shown.issued(server, below: intermediate)
            return Shown(chain: [shown.chain[0]], anchors: shown.anchors)
        },
        Row("RSA of 1024 bits") { try .issued(server.with(.rsa(bits: 1024))) },
        Row("signed with SHA-1") { try .issued(server.with(.p256, .sha1)) },
        Row("signed with MD5") {
            let root = try CertificateDraft.authority("Root").with(.rsa(bits: 2048)).issued()
            return try Shown(chain: [server.with(.p256, .md5).issued(by: root)], anchors: [root])
        },
        Row("below one that is signed with SHA-1") { try .issued(server, below: intermediate.with(.p256, .sha1)) },
        Row("below one of RSA of 1024 bits") { try .issued(server, below: intermediate.with(.rsa(bits: 1024))) },
        Row("below a server") { try .issued(server, below: .server("DNS:other.localhost")) },
        Row("below one that says nothing of being an authority") {
            try .issued(server, below: intermediate.with("basicConstraints", nil).with("keyUsage", nil))
        },
        Row("below one that may not sign") {
            try .issued(server, below: intermediate.with("keyUsage", "critical,cRLSign"))
        },
        Row("a path that is too long") {
            try .issued(
                server, below: .authority("One").with("basicConstraints", "critical,CA:TRUE,pathlen:0"),
                .authority("Two"))
        },
        Row("constraints to another name") {
            try .issued(server, below: intermediate.with("nameConstraints", "critical,permitted;DNS:other.localhost"))
        },
        Row("constraints that exclude the name") {
            try .issued(server, below: intermediate.with("nameConstraints", "critical,excluded;DNS:\(Row.host)"))
        },
        Row("constraints to another address", host: "127.0.0.1") {
            try .issued(
                .server("IP:127.0.0.1"),
                below: intermediate.with("nameConstraints", "critical,permitted;IP:10.0.0.0/255.0.0.0"))
        },
        Row("for clients only") { try .issued(server.with("extendedKeyUsage", "clientAuth")) },
        Row("for code only") { try .issued(server.with("extendedKeyUsage", "codeSigning")) },
        Row("below one for clients only") {
            try .issued(server, below: intermediate.with("extendedKeyUsage", "clientAuth"))
        },
        Row("a key for other things") { try .issued(server.with("keyUsage", "critical,cRLSign")) },
        Row("an unknown critical extension") {
            try .issued(server.with("1.3.6.1.4.1.99999.1", "critical,DER:0500"))
        },
    ]

    /// - Returns: the error, and what the server got of the request.
    private func load(_ row: Row) async throws -> (failure: LoadError?, request: [UInt8]) {
        let shown = try row.make()
        let tls = RawTLS(chain: shown.chain.map(\.pem), key: shown.chain[0].keyPEM)
        let request = Lock<[UInt8]>([])
        let server = try TestServer { connection in
            guard let client = tls.accept(connection) else { return connection.finish() }
            let bytes = client.read()
            request.withLock { $0 += bytes }
            if !bytes.isEmpty { client.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n") }
            connection.finish()
        }
        var configuration = SessionConfiguration()
        configuration.trust = .only(shown.anchors.map(\.der))
        let session = URLLoadingSystem(gate: StubGate()).makeSession(configuration)
        var failure: LoadError?
        do throws(LoadError) {
            _ = try await session.data(for: LoadRequest(.get, Self.url(row.host, server.port)))
        } catch {
            failure = error
        }
        #expect(try await eventually { server.openConnections == 0 })
        return (failure, request.withLock { $0 })
    }

    private static func url(_ host: String, _ port: UInt16) throws(LoadError) -> RequestURL {
        do {
            return try RequestURL("https://\(host):\(port)/")
        } catch {
            throw LoadError(.invalidRequest, "\(error)")
        }
    }

    @Test(arguments: good) func aGoodCertificateIsTaken(_ row: Row) async throws {
        let (failure, request) = try await load(row)
        #expect(failure == nil && !request.isEmpty, "\(String(describing: failure))")
    }

    @Test(arguments: wrongNames) func aCertificateForAnotherNameIsRefused(_ row: Row) async throws {
        try await expectRefusal(row)
    }

    @Test(arguments: untrusted) func aCertificateThatDoesNotVerifyIsRefused(_ row: Row) async throws {
        try await expectRefusal(row)
    }

    private func expectRefusal(_ row: Row) async throws {
        let (failure, request) = try await load(row)
        #expect(failure?.code == .serverNotTrusted && failure?.step == .serverTLS, "\(String(describing: failure))")
        #expect(request.isEmpty, "The server got \(request.count) bytes.")
    }
}
