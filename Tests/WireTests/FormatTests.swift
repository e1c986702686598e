import Crypto
import SallyportBase
import SallyportCore
import SallyportWire
import Testing

@Suite("JWS") struct JWSTests {
    private let key = P256.Signing.PrivateKey()

    @Test("What is signed comes back and verifies") func roundTrip() throws {
        let header = JWS.Header(type: "t", keyID: "k", certificates: [[1, 2, 3]])
        let signed = try JWS(Array(JWS.sign([1, 2], header: header, with: key).utf8), type: "t")
        #expect(signed.header == header && signed.payload == [1, 2])
        try signed.verify(with: key.publicKey)
        #expect(throws: WireError(.signature, "")) { try signed.verify(with: P256.Signing.PrivateKey().publicKey) }
    }

    @Test(
        "Other types, algorithms and critical headers are refused",
        arguments: [
            #"{"alg":"ES256","typ":"u"}"#, #"{"alg":"none","typ":"t"}"#, #"{"alg":"HS256","typ":"t"}"#,
            #"{"alg":"ES256"}"#, #"{"alg":"ES256","typ":"t","crit":["b64"]}"#,
            #"{"alg":"ES256","typ":"t","crit":null}"#,
        ])
    func refused(header: String) {
        let signature = Base64URL.encode([UInt8](repeating: 1, count: 64))
        let text = "\(Base64URL.encode(Array(header.utf8))).e30.\(signature)"
        #expect(throws: WireError(.unsupported, "")) { try JWS(Array(text.utf8), type: "t") }
    }

    @Test("One byte over the limit is refused") func limit() throws {
        let text = Array(try JWS.sign([1], header: .init(type: "t"), with: key).utf8)
        var limits = JWS.Limits()
        limits.document = text.count
        _ = try JWS(text, type: "t", limits: limits)
        limits.document -= 1
        #expect(throws: WireError(.tooLarge, "")) { try JWS(text, type: "t", limits: limits) }
    }
}

@Suite("Configuration documents") struct ConfigurationDocumentTests {
    @Test("Every part survives") func roundTrip() throws {
        let document = try Samples.configuration()
        #expect(try ConfigurationDocument(parsing: document.serialized()) == document)
    }

    @Test("A configuration with its shared members beside it makes the same text") func sharedMembers() throws {
        let document = try Samples.configuration()
        let own = ConfigurationDocument(
            aud: document.aud, epoch: document.epoch, iat: document.iat, leaseEnd: document.leaseEnd,
            status: document.status, code: document.code, entitlement: document.entitlement, user: document.user,
            trust: document.trust,
            entitlements: document.entitlements)
        #expect(try own.serialized(with: document.sharedMembers()) == document.serialized())
        var damaged = document
        damaged.epoch = 0
        #expect(throws: WireError(.malformed, "")) { try damaged.serialized(with: document.sharedMembers()) }
        damaged = document
        damaged.servers[0].priority = 0
        #expect(throws: WireError(.malformed, "")) { try damaged.sharedMembers() }
    }

    @Test("Members that an older gateway does not send are absent, and those for none are not sent")
    func olderGateways() throws {
        var document = try Samples.configuration()
        document.defaultDomains = nil
        document.gateways = nil
        document.servers[0].secondary = nil
        document.domains[1].secondary = nil
        let text = String(decoding: try document.serialized(), as: UTF8.self)
        #expect(!text.contains("defaultDomains") && !text.contains("secondary") && !text.contains("gateways"))
        let read = try ConfigurationDocument(parsing: Array(text.utf8))
        let decision = read.routingTable.decide(try Endpoint("a.test:443"))
        #expect(read == document && decision.secondary == nil)
    }

    @Test("Members that an older client does not know are ignored") func newerGateways() throws {
        let document = try Samples.configuration()
        let text = String(decoding: try document.serialized(), as: UTF8.self)
        let newer = "{\"afterwards\":{\"a\":[1]}," + text.dropFirst()
        #expect(try ConfigurationDocument(parsing: Array(newer.utf8)) == document)
    }

    @Test("Hosts and ports of gateways are read like all others", arguments: ["", "a b", "x:1", "[::1"])
    func hostsOfGateways(_ host: String) throws {
        let text = String(decoding: try Samples.configuration().serialized(), as: UTF8.self)
        #expect(text.contains("gw1.example"))
        let damaged = text.replacing("gw1.example", with: host)
        #expect(throws: WireError.self) { try ConfigurationDocument(parsing: Array(damaged.utf8)) }
        #expect(throws: WireError.self) {
            try ConfigurationDocument(parsing: Array(text.replacing("17433", with: "0").utf8))
        }
    }

    @Test("Values outside their range are refused whole") func ranges() throws {
        let changes: [(inout ConfigurationDocument) -> Void] = [
            { $0.epoch = 0 }, { $0.leaseEnd = 1 << 53 + 1 }, { $0.code = .none }, { $0.servers[0].priority = 0 },
            { $0.user.principalName = "alice" }, { $0.user.principalName = "" },
            { $0.defaultDomains = ["Corp.Example"] }, { $0.defaultDomains = ["10.0.0.1"] },
            { $0.defaultDomains = [""] }, { $0.gateways?[0].priority = 0 }, { $0.gateways?[0].priority = 1001 },
            { $0.gateways = $0.gateways.map { Array(repeatElement($0[0], count: 65)) } },
            { $0.defaultDomains = [String](repeating: "a.example", count: 17) },
            { $0.servers[0].secondary = "no cluster" }, { $0.domains[0].secondary = "east" },
            { $0.defaultRoute.secondary = "east" },
            { $0.application.extraInfo = "[]" }, { $0.application.extraInfo = "" },
            { $0.status = .active }, { $0.trust.authorities = [] }, { $0.trust.signers = 0 },
            { $0.trust.authorities = [[UInt8]](repeating: [0x30, 0], count: 5) },
            { $0.trust.endorsements = [[UInt8]](repeating: [0x30, 0], count: 5) },
        ]
        for change in changes {
            var document = try Samples.configuration()
            change(&document)
            #expect(throws: WireError.self) { try document.serialized() }
        }
    }
}

@Suite("Activation links") struct ActivationLinkTests {
    @Test("A link survives, and its description hides the key") func roundTrip() throws {
        let link = try Samples.link()
        #expect(try ActivationLink(" \(link.text)\n") == link)
        #expect(!"\(link)".contains("k&y") && !String(reflecting: link.accessKey).contains("k&y"))
    }

    @Test(
        "Missing, doubled, unknown and malformed parameters are refused",
        arguments: [
            "", "ca=AA&user=a&key=k", "user=a&key=k", "ca=%CA&user=a&key=k&key=k", "ca=%CA&user=a&key=k&x=1",
            "ca=%CA&user=&key=k", "ca=%CA&user=a&key=", "ca=%CA&user=a:b&key=k",
        ])
    func refused(query: String) {
        let fingerprint = Base64URL.encode([UInt8](repeating: 1, count: 32))
        let query = query.replacing("%CA", with: fingerprint)
        #expect(throws: WireError.self) { try ActivationLink("sallyport://h.example:1/?\(query)") }
    }

    @Test("One byte over the limit is refused") func limit() throws {
        let text = try Samples.link().text
        let padding = ActivationLink.maximumLength - text.utf8.count
        _ = try ActivationLink(text + String(repeating: " ", count: padding))
        #expect(throws: WireError(.tooLarge, "")) {
            try ActivationLink(text + String(repeating: " ", count: padding + 1))
        }
    }
}

@Suite("Small formats") struct SmallFormatTests {
    @Test("Certificates survive the bag and the EST body") func bags() throws {
        let bag = CertificateBag([[0x30, 3, 2, 1, 5], [0x30, 0]])
        let bytes = try ESTBody.decode(Array(ESTBody.encode(bag.serialized()).utf8))
        #expect(try CertificateBag(parsing: bytes) == bag)
    }

    @Test("A bag of more certificates than allowed is refused") func bagLimit() throws {
        let bytes = try CertificateBag(Array(repeating: [0x30, 0], count: CertificateBag.maximumCount + 1))
            .serialized()
        #expect(throws: WireError.self) { try CertificateBag(parsing: bytes) }
    }

    @Test("Basic credentials survive, a colon in the password included") func basic() throws {
        let credentials = BasicCredentials(user: "ålice", password: Redacted("a:b"))
        #expect(try BasicCredentials(fieldValue: credentials.fieldValue.reveal()) == credentials)
    }

    @Test(
        "Names of users",
        arguments: [
            ("ann", true), ("Ann of Corp", true), ("å", true), ("", false), (" ann", false), ("ann ", false),
            (" ", false), (" \u{301}ann", false), ("a\u{301}nn", true), ("a:b", false), ("a\nb", false),
            ("a\u{7f}", false),
            ("a\u{80}", false), ("a\u{9b}2J", false), ("a\u{9f}", false), ("a\u{a0}b", true),
        ])
    func users(_ name: String, _ isUser: Bool) {
        #expect(BasicCredentials.isUser(name) == isUser)
        #expect(BasicCredentials.isUser(String(repeating: "u", count: 254)))
        #expect(!BasicCredentials.isUser(String(repeating: "u", count: 255)))
    }

    @Test("Control events survive") func controlEvents() throws {
        for kind in ControlEvent.Kind.allCases {
            var parser = ServerSentEventParser()
            let event = ControlEvent(kind, id: 9, epoch: 10)
            let read = try parser.receive(event.serverSentEvent.serialized.utf8)
            #expect(read.compactMap(ControlEvent.init) == [event])
        }
    }

    @Test("A line of an event stream has a limit") func eventLimit() {
        var parser = ServerSentEventParser()
        let bytes = [UInt8](repeating: 97, count: ServerSentEventParser.maximumLength)
        #expect(throws: Never.self) { try parser.receive(bytes) }
        #expect(throws: WireError(.tooLarge, "")) { try parser.receive([97]) }
    }

    @Test(
        "Versions",
        arguments: [
            ("1", true), ("1.2.3.4", true), ("999.0", true), ("", false), ("1.2.3.4.5", false),
            ("01", false), ("1000", false), ("1.", false), ("-1", false),
        ])
    func versions(text: String, isValid: Bool) { #expect((EntitlementVersion(text) != nil) == isValid) }

    @Test(
        "Instance names",
        arguments: [
            ("sallyport://com.example/0e0a8b5c-8d2e-4f66-9a7f-3b1f0a6f2d11", true),
            ("sallyport://com.example/0E0A8B5C-8D2E-4F66-9A7F-3B1F0A6F2D11", false),
            ("https://com.example/0e0a8b5c-8d2e-4f66-9a7f-3b1f0a6f2d11", false), ("sallyport://com.example/", false),
            ("sallyport://com.example/\u{301}0e0a8b5c-8d2e-4f66-9a7f-3b1f0a6f2d11", false),
            ("sallyport://com.example//0e0a8b5c-8d2e-4f66-9a7f-3b1f0a6f2d11", false),
            ("sallyport://com.example/0e0a8b5c-8d2e-4f66-9a7f-3b1f0a6f2d11/", false),
            ("sallyport://com.example", false),
        ])
    func names(text: String, isValid: Bool) { #expect((InstanceName(text) != nil) == isValid) }

    @Test("Compression that points at itself is refused") func dnsLoop() {
        let header: [UInt8] = [0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]
        #expect(throws: WireError.self) { try DNSMessage(parsing: header + [0xc0, 12, 0, 1, 0, 1]) }
    }

    @Test("Of a truncated DNS message, the question counts") func truncatedDNS() throws {
        let name = try #require(DNSName("app.example"))
        let record = DNSMessage.Record(name, timeToLive: 5, .canonicalName(name))
        var whole = DNSMessage(answering: DNSMessage(query: .init(name, .cname), id: 7), answers: [record])
        let complete = try whole.serialized()
        #expect(throws: WireError.self) { try DNSMessage(parsing: Array(complete.dropLast())) }
        whole.isTruncated = true
        let bytes = try whole.serialized()
        whole.answers = []
        for length in try whole.serialized().count...bytes.count {
            #expect(try DNSMessage(parsing: Array(bytes.prefix(length))) == whole)
        }
    }

    @Test("Proxy-Status survives") func proxyStatus() throws {
        let status = ProxyStatus([
            .init("relay.example", error: ProxyStatus.ErrorType.dnsError, receivedStatus: 502, details: "a \"b\"")
        ])
        #expect(try ProxyStatus(parsing: status.serialized()) == status)
    }
}
