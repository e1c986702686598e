import Foundation
import HTTPTypes
import Logging
import SallyportBase
import SallyportCore
import SallyportHTTPAuthentication
import SallyportLoading
import SallyportURLLoading
import SallyportWire
import TestSupport
import Testing

@testable import SallyportKerberos

/// Tokens as a service of GSS-API takes them: channel bindings, codes over messages, delegation.
@Suite(.timeLimit(.minutes(2)))
struct AcceptorTests {
    /// What the service says of a token.
    private struct Verdict {
        var user = ""
        var token: [UInt8] = []
        var code: [UInt8] = []
        var flags = 0
        var isDelegated = false
        /// Whether the delegated ticket opens by the session key alone.
        var isSealedBySessionKey = false
        var failure = ""
    }

    /// `gss_channel_bindings_struct` with `tls-server-end-point` of the hash.
    private static func binding(_ hash: [UInt8]) -> [UInt8] {
        let data = Array("tls-server-end-point:".utf8) + hash
        return [UInt8](repeating: 0, count: 16) + [UInt8(data.count), 0, 0, 0] + data
    }

    private static func text(_ bytes: [UInt8]) -> String { bytes.map { String(format: "%02x", $0) }.joined() }

    private static func bytes(_ text: Substring) -> [UInt8] {
        let digits = Array(text.utf8)
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap { index in
            UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16)
        }
    }

    private func accept(
        _ proof: ServiceProof, _ keytab: String, _ kdc: TestKDC, hash: [UInt8]? = nil
    ) async throws -> Verdict {
        let token = SPNEGOToken.offer(
            SPNEGOOffer([.kerberos], token: KerberosToken(.request, proof.request).serialized))
        return try await accept(token.serialized, keytab, kdc, hash: hash)
    }

    private func accept(
        _ token: [UInt8], _ keytab: String, _ kdc: TestKDC, hash: [UInt8]?
    ) async throws -> Verdict {
        let outcome = try await ChildProcess(
            Programs.built("GSSAcceptor"), [keytab] + (hash.map { [Self.text($0)] } ?? []),
            input: Self.text(token) + "\n", environment: kdc.serviceEnvironment
        ).outcome()
        let words = outcome.output.split(whereSeparator: \.isWhitespace)
        try #require(words.count > 1, "\(outcome)")
        guard words[0] == "accepted", words.count == 7 else { return Verdict(failure: outcome.output) }
        return Verdict(
            user: String(words[1]), token: Self.bytes(words[2]), code: Self.bytes(words[3]),
            flags: Int(words[4], radix: 16) ?? 0, isDelegated: words[5] == "1",
            isSealedBySessionKey: words[6] == "1")
    }

    private func realm(_ service: String = "") async throws -> (TestKDC, String) {
        let kdc = try await TestKDC.start()
        try await kdc.addUser("ann", password: "secret")
        return (kdc, try await kdc.addService("HTTP/localhost", service))
    }

    @Test func aBoundTokenIsTakenOverItsOwnConnectionOnly() async throws {
        let (kdc, keytab) = try await realm()
        let app = try KerberosApp([kdc])
        let ticket = try await app.ticket("localhost", "ann@EXAMPLE.TEST", "secret").service
        let hash = [UInt8](0..<32)
        let bound = { try ServiceProof(ticket, binding: Self.binding(hash), delegated: nil) }
        let isBound = 0x800
        let right = try await accept(bound(), keytab, kdc, hash: hash)
        #expect(right.user == "ann@EXAMPLE.TEST" && right.flags & isBound != 0, "\(right)")
        let wrong = try await accept(bound(), keytab, kdc, hash: hash.reversed())
        #expect(wrong.failure.hasPrefix("refused 40000"), "GSS_S_BAD_BINDINGS: \(wrong)")
        let unbound = try ServiceProof(ticket, binding: nil, delegated: nil)
        #expect(try await accept(unbound, keytab, kdc, hash: hash).flags & isBound == 0)
        #expect(try await accept(bound(), keytab, kdc).user == "ann@EXAMPLE.TEST", "who does not look does not mind")
        await app.loading.shutdown()
    }

    /// Asks over a connection that has a certificate, and keeps what is said to it.
    private final class AskingStage: LoadStage {
        let hash: Lock<[UInt8]>
        let said = Lock<[String]>([])

        init(_ hash: [UInt8]) { self.hash = Lock(hash) }

        func load(
            _ request: LoadRequest, in context: LoadContext, next: LoadChain
        ) async throws(LoadError) -> LoadResponse {
            var fields = request.headerFields
            await context.signer?.sign(&fields)
            let isAsked = fields[.authorization] == nil
            if let field = fields[.authorization] { said.withLock { $0.append(field) } }
            var response = LoadResponse(
                head: HTTPResponse(
                    status: isAsked ? .unauthorized : .serviceUnavailable,
                    headerFields: isAsked ? [.wwwAuthenticate: "Negotiate"] : [:]),
                url: request.url, body: ResponseBody())
            var hop = HopFacts(url: request.url)
            if isAsked { hop.connection.channelBinding = ChannelBinding(certificateHash: hash.withLock { $0 }) }
            response.facts.hops = [hop]
            return try await context.signer?.examined(response) ?? response
        }
    }

    @Test func aLoadsTokenIsBoundToTheConnectionThatAsked() async throws {
        let (kdc, keytab) = try await realm()
        let app = try KerberosApp([kdc])
        let (hash, stage) = ([UInt8](0..<32), AskingStage([UInt8](0..<32)))
        let chain = LoadChain([
            AuthenticationStage(credentials: CredentialStorage(), schemes: [NegotiateScheme(app.kerberos)]), stage,
        ])
        var request = try LoadRequest.get("https://localhost/")
        request.options.credential = .ann()
        let context = LoadContext(
            requestID: 1, logger: Logger(label: "test"), deadline: .now + .seconds(30), idleTimeout: .seconds(30),
            principal: .instance)
        #expect(try await chain.load(request, in: context).head.status == .serviceUnavailable)
        let field = try #require(stage.said.withLock { $0.first })
        let token = try Base64.decode(field.dropFirst("Negotiate ".count).utf8)
        #expect(try await accept(token, keytab, kdc, hash: hash).flags & 0x800 != 0)
        #expect(try await !accept(token, keytab, kdc, hash: hash.reversed()).failure.isEmpty)
        await app.loading.shutdown()
    }

    @Test func theServicesAnswerAndCodesAreVerified() async throws {
        let (kdc, keytab) = try await realm()
        let app = try KerberosApp([kdc])
        let ticket = try await app.ticket("localhost", "ann@EXAMPLE.TEST", "secret").service
        let proof = try ServiceProof(ticket, binding: nil, delegated: nil)
        let verdict = try await accept(proof, keytab, kdc)
        // Mutual authentication, replay, sequence; no delegation.
        #expect(verdict.flags & 0b1111 == 0b1110 && !verdict.isDelegated)
        let answer = try NegotiateSignature.answer(in: Base64.encode(verdict.token))
        let other = try ServiceProof(ticket, binding: nil, delegated: nil)
        #expect(!other.isAnswered(by: answer.reply), "another token's answer")
        var changed = answer.reply
        changed[changed.count - 1] ^= 1
        #expect(!proof.isAnswered(by: changed))
        #expect(!proof.isSigned(Array("message".utf8), with: verdict.code), "not before the answer")
        #expect(proof.isAnswered(by: answer.reply))
        #expect(proof.isSigned(Array("message".utf8), with: verdict.code))
        #expect(!proof.isSigned(Array("messagf".utf8), with: verdict.code))
        for index in verdict.code.indices {
            var code = verdict.code
            code[index] ^= 1
            #expect(!proof.isSigned(Array("message".utf8), with: code), "\(index)")
        }
        for count in 0..<verdict.code.count {
            #expect(!proof.isSigned(Array("message".utf8), with: Array(verdict.code.prefix(count))))
        }
        await app.loading.shutdown()
    }

    @Test func aDelegatedTicketCanBeUsedByTheService() async throws {
        let (kdc, keytab) = try await realm("+ok_as_delegate")
        let app = try KerberosApp([kdc])
        try await app.kerberos.allowDelegation(true)
        let tickets = try await app.ticket("localhost", "ann@EXAMPLE.TEST", "secret")
        let delegated = try #require(tickets.delegated)
        for _ in 1...2 {
            let proof = try ServiceProof(tickets.service, binding: nil, delegated: delegated)
            let verdict = try await accept(proof, keytab, kdc)
            #expect(verdict.isDelegated && verdict.flags & 1 == 1)
        }
        await app.loading.shutdown()
    }

    /// As RFC 4121 §4.1.1.1 has it. Acceptors of MIT Kerberos and Heimdal try the subkey too, others refuse the token.
    @Test func aDelegatedTicketIsSealedByTheSessionKey() async throws {
        let (kdc, keytab) = try await realm("+ok_as_delegate")
        let app = try KerberosApp([kdc])
        try await app.kerberos.allowDelegation(true)
        let tickets = try await app.ticket("localhost", "ann@EXAMPLE.TEST", "secret")
        let delegated = try #require(tickets.delegated)
        let proof = try ServiceProof(tickets.service, binding: nil, delegated: delegated)
        let verdict = try await accept(proof, keytab, kdc)
        #expect(verdict.isDelegated && verdict.isSealedBySessionKey, "\(verdict)")
        // The service's answer and its codes go by the subkey as before.
        let answer = try NegotiateSignature.answer(in: Base64.encode(verdict.token))
        #expect(proof.isAnswered(by: answer.reply))
        #expect(proof.isSigned(Array("message".utf8), with: verdict.code))
        await app.loading.shutdown()
    }

    @Test func aTokenOfAnotherRealmOfTheSameNameIsRefused() async throws {
        let (kdc, _) = try await realm()
        let (other, keytab) = try await realm()
        let app = try KerberosApp([kdc])
        let ticket = try await app.ticket("localhost", "ann@EXAMPLE.TEST", "secret").service
        let verdict = try await accept(ServiceProof(ticket, binding: nil, delegated: nil), keytab, kdc)
        #expect(verdict.failure.hasPrefix("refused"))
        // Its folder has the keytab.
        withExtendedLifetime(other) {}
        await app.loading.shutdown()
    }
}
