import Crypto
import SallyportCore
import SallyportWire
import Testing

/// 10,000 inputs a parser, near to valid ones: none may trap, and what is taken must survive being written again.
@Suite("Random input", .timeLimit(.minutes(10))) struct RandomInputTests {
    private func tryAll(_ seed: [UInt8], _ parse: ([UInt8]) -> Void) {
        var generator = SeededGenerator(seed: 20)
        for _ in 0..<10_000 { parse(generator.mutation(of: seed)) }
    }

    @Test("JWS") func jws() throws {
        let key = P256.Signing.PrivateKey()
        let text = try JWS.sign(Array("{}".utf8), header: .init(type: "t", certificates: [[1, 2]]), with: key)
        let original = Array(text.utf8)
        tryAll(original) { bytes in
            guard bytes != original, let signed = try? JWS(bytes, type: "t") else { return }
            #expect(throws: WireError.self) { try signed.verify(with: key.publicKey) }
        }
    }

    @Test("Configuration documents") func configurations() throws {
        try tryAll(Samples.configuration().serialized()) { bytes in
            guard let document = try? ConfigurationDocument(parsing: bytes) else { return }
            #expect((try? ConfigurationDocument(parsing: document.serialized())) == document)
        }
    }

    @Test("Activation links") func links() throws {
        try tryAll(Array(Samples.link().text.utf8)) { bytes in
            guard let link = try? ActivationLink(String(decoding: bytes, as: UTF8.self)) else { return }
            #expect((try? ActivationLink(link.text)) == link)
        }
    }

    @Test("PKCS#7") func bags() throws {
        try tryAll(CertificateBag([[0x30, 3, 2, 1, 5], [0x30, 0]]).serialized()) { bytes in
            _ = try? CertificateBag(parsing: bytes)
            _ = try? ESTBody.decode(bytes)
        }
    }

    @Test("Event streams, in any pieces, give the same events") func events() {
        let stream = "id: 3\nevent: configuration\ndata: {\"epoch\":4}\n\n: beat\r\n\r\ndata: a\rdata: b\r\r"
        tryAll(Array(stream.utf8)) { bytes in
            var (whole, pieces) = (ServerSentEventParser(), ServerSentEventParser())
            let all = try? whole.receive(bytes)
            var some: [ServerSentEvent]? = []
            for byte in bytes { some = try? some.map { try $0 + pieces.receive([byte]) } }
            #expect(all == some)
            for event in all ?? [] { _ = ControlEvent(event) }
        }
    }

    @Test("DNS messages") func dns() throws {
        let name = try #require(DNSName("app.example"))
        let query = DNSMessage(query: .init(name, .a), id: 7)
        let answer = DNSMessage(
            answering: query,
            answers: [.init(name, timeToLive: 5, .service(priority: 1, weight: 2, port: 3, target: name))])
        try tryAll(answer.serialized()) { bytes in
            guard let message = try? DNSMessage(parsing: bytes) else { return }
            #expect((try? DNSMessage(parsing: message.serialized())) == message)
        }
    }

    @Test("Credentials, names, versions and Proxy-Status") func texts() {
        tryAll(Array("Basic YWxpY2U6c2VjcmV0 1.2.3 relay; error=dns_error".utf8)) { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            _ = try? BasicCredentials(fieldValue: text)
            _ = EntitlementVersion(text)
            _ = EntitlementIdentifier(text)
            if let status = try? ProxyStatus(parsing: text) {
                #expect((try? ProxyStatus(parsing: status.serialized())) == status)
            }
        }
    }
}
