import Crypto
import FoundationEssentials
import HTTPTypes
import SallyportAuthorization
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportWire
import SwiftASN1
import TestSupport
import Testing
import X509

/// A gateway without a network: answers what a test tells it to, and keeps what it was sent.
final class FakeGateway: ControlClient {
    struct State: Sendable {
        var sent: [ControlRequest] = []
        var retired = 0
        /// What each reset of the connections ends the requests with that are under way.
        var resets: [LoadError] = []
        /// How many of the next requests do not reach it.
        var unreachable = 0
        var failure: LoadError?
        /// Which gateways of the fleet cannot be reached, do not answer, and answer with 500; HOST:PORT.
        var dead: Set<String> = []
        var hanging: Set<String> = []
        var broken: Set<String> = []
        /// Which paths none of them answers.
        var silent: Set<String> = []
        /// By path, what is awaited before the answer.
        var holds: [String: @Sendable () async -> Void] = [:]
        /// The fleet's gateways to which event streams were opened.
        var streams: [String] = []
        /// By path, instead of the true answer.
        var statuses: [String: Int] = [:]
        /// Answers that are given first, once each.
        var first: [String: [ControlAnswer]] = [:]
        var bodies: [String: [UInt8]] = [:]
        var configuration: ConfigurationDocument
        /// The newest epoch that the gateway takes as stored: a request that names a lower one is refused.
        var stored: Int64 = 0
        var events: [String] = []
        /// An event stream that stays open, where there is one.
        var stream: BodyPipe?
    }

    static let instance = "0e0a8b5c-8d2e-4f66-9a7f-3b1f0a6f2d11"
    let authority: TestAuthority
    let signer: TestIdentity
    let state: Lock<State>
    let name: InstanceName

    init(entitlement: String = "com.example.test") throws {
        authority = try TestAuthority()
        signer = try authority.signer()
        name = try #require(InstanceName("sallyport://\(entitlement)/\(Self.instance)"))
        let now = Int64(Date.now.timeIntervalSince1970)
        state = Lock(
            State(
                configuration: ConfigurationDocument(
                    aud: name.instance, epoch: 1000, iat: now, leaseEnd: now + 86_400,
                    entitlement: .init(id: name.entitlement, version: try #require(EntitlementVersion("1.0"))),
                    user: .init(id: "alice"), trust: .init(authorities: [try authority.der]),
                    defaultRoute: .init(route: .direct))))
    }

    func change(_ body: (inout ConfigurationDocument) -> Void) {
        state.withLock { state in
            state.configuration.epoch += 1
            body(&state.configuration)
        }
    }

    func link(fingerprint: [UInt8]? = nil, key: String = "secret-key") throws -> String {
        let fingerprint = try fingerprint ?? Array(SHA256.hash(data: authority.der))
        return try ActivationLink(
            gateway: Endpoint("gateway.example:17433"), authorityFingerprint: fingerprint, user: "alice",
            accessKey: Redacted(key)
        ).text
    }

    var sent: [ControlRequest] { state.withLock { $0.sent } }
    func sent(to path: String) -> [ControlRequest] { sent.filter { $0.target.hasPrefix(path) } }

    func send(_ request: ControlRequest) async throws(LoadError) -> ControlAnswer {
        let resets = state.withLock { $0.resets.count }
        try admit(request)
        try await hang(request)
        if state.withLock({ $0.broken.contains("\(request.gateway)") }) { return ControlAnswer(status: 500, body: []) }
        let path = String(request.target.prefix { $0 != "?" })
        if let hold = state.withLock({ $0.holds[path] }) { await hold() }
        if let failure = state.withLock({ $0.resets.dropFirst(resets).first }) { throw failure }
        if let answer = state.withLock({ $0.first[path]?.isEmpty == false ? $0.first[path]?.removeFirst() : nil }) {
            return answer
        }
        let (status, body) = state.withLock { ($0.statuses[path], $0.bodies[path]) }
        if let status, status != 200 {
            return ControlAnswer(status: status, headerFields: status == 429 ? [.retryAfter: "1"] : [:], body: [])
        }
        if let body { return ControlAnswer(status: 200, body: body) }
        if let refusal = refusal(of: request.target) { return refusal }
        do {
            return ControlAnswer(status: 200, body: try answer(path, request.body ?? []))
        } catch {
            throw LoadError(.internalFailure, "\(error)")
        }
    }

    private func refusal(of target: String) -> ControlAnswer? {
        let known = state.withLock { $0.stored }
        guard target.hasPrefix(ControlAPI.Path.configuration), known > 0,
            let stored = target.firstMatch(of: /stored=(\d+)/).flatMap({ Int64($0.output.1) }), stored < known
        else { return nil }
        let failure = ControlAPI.Failure(code: 0, name: "behind", message: "", stored: known)
        return ControlAnswer(status: 409, body: (try? WireJSON.encode(failure)) ?? [])
    }

    private func admit(_ request: ControlRequest) throws(LoadError) {
        let failure = state.withLock { state -> LoadError? in
            state.sent.append(request)
            if state.dead.contains("\(request.gateway)") { return .refused }
            guard state.unreachable > 0 else { return state.failure }
            state.unreachable -= 1
            return LoadError(.cannotConnect, at: .connect, "Nobody listens.")
        }
        if let failure { throw failure }
    }

    private func hang(_ request: ControlRequest) async throws(LoadError) {
        let hangs = state.withLock { state in
            state.hanging.contains("\(request.gateway)") || state.silent.contains(request.target)
        }
        guard hangs else { return }
        try? await Task.sleep(for: .seconds(60))
        throw Task.isCancelled ? .cancelled() : LoadError(.idleTimeout, at: .response, "Nothing came.")
    }

    /// The true answer.
    func answer(_ path: String, _ body: [UInt8]) throws -> [UInt8] {
        switch path {
        case ControlAPI.Path.authorities:
            return try Array(ESTBody.encode(CertificateBag([authority.der]).serialized()).utf8)
        case ControlAPI.Path.enroll, ControlAPI.Path.reenroll:
            let certificate = try authority.certify(ESTBody.decode(body), as: "\(name)")
            return try Array(ESTBody.encode(CertificateBag([certificate]).serialized()).utf8)
        default:
            return try signed(state.withLock { $0.configuration })
        }
    }

    func signed(
        _ document: ConfigurationDocument, by signer: TestIdentity? = nil, type: String = ConfigurationDocument.type
    ) throws -> [UInt8] {
        let signer = signer ?? self.signer
        let header = JWS.Header(type: type, certificates: [try signer.der])
        return Array(try JWS.sign(document.serialized(), header: header, with: signer.key).utf8)
    }

    func open(_ request: ControlRequest) async throws(LoadError) -> ControlStream {
        try admit(request)
        try await hang(request)
        state.withLock { $0.streams.append("\(request.gateway)") }
        if let status = state.withLock({ $0.statuses[ControlAPI.Path.events] }), status != 200 {
            return ControlStream(status: status, body: ResponseBody())
        }
        if let stream = state.withLock({ $0.stream }) { return ControlStream(status: 200, body: ResponseBody(stream)) }
        let text = state.withLock { state in
            defer { state.events = [] }
            return state.events.joined()
        }
        return ControlStream(status: 200, body: ResponseBody(Array(text.utf8)))
    }

    func retire(_ identity: ClientIdentity) { state.withLock { $0.retired += 1 } }
    func reset(_ failure: LoadError) { state.withLock { $0.resets.append(failure) } }
}

extension TestAuthority {
    /// A certificate for signing configurations.
    func signer(
        usage: ASN1ObjectIdentifier = ObjectIdentifiers.configurationSigning,
        validity: ClosedRange<Double> = -3600...172_800, generation: Int64? = 1
    ) throws -> TestIdentity {
        let key = P256.Signing.PrivateKey()
        return try TestIdentity(
            certificate: issue(for: .init(key.publicKey), usage, validity, generation: generation), key: key)
    }

    /// A certificate by which this authority endorses another authority's key.
    func endorsement(
        of next: TestAuthority, usage: ASN1ObjectIdentifier = ObjectIdentifiers.authorityEndorsement,
        validity: ClosedRange<Double> = -3600...86_400
    ) throws -> [UInt8] {
        let certificate = try issue(for: next.certificate.publicKey, usage, validity)
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        return serializer.serializedBytes
    }

    /// Answers a certificate request as EST does: by its key alone.
    func certify(_ request: [UInt8], as uri: String) throws -> [UInt8] {
        let request = try CertificateSigningRequest(derEncoded: request)
        let client = ExtendedKeyUsage.Usage.clientAuth
        let certificate = try issue(for: request.publicKey, nil, -60...(7 * 86_400), uri: uri, usage: client)
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        return serializer.serializedBytes
    }

    private func issue(
        for key: Certificate.PublicKey, _ oid: ASN1ObjectIdentifier?, _ validity: ClosedRange<Double>,
        uri: String? = nil, usage: ExtendedKeyUsage.Usage? = nil, generation: Int64? = nil
    ) throws -> Certificate {
        let generation = try generation.map(SignerGeneration.encode)
        let usages = [oid.map { ExtendedKeyUsage.Usage(oid: $0) }, usage].compactMap { $0 }
        return try Certificate(
            version: .v3, serialNumber: .init(), publicKey: key,
            notValidBefore: .now.addingTimeInterval(validity.lowerBound),
            notValidAfter: .now.addingTimeInterval(validity.upperBound), issuer: certificate.subject,
            subject: DistinguishedName { CommonName("test") }, signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                try ExtendedKeyUsage(usages)
                if let uri { SubjectAlternativeNames([.uniformResourceIdentifier(uri)]) }
                if let generation {
                    Certificate.Extension(
                        oid: ObjectIdentifiers.signerGeneration, critical: false, value: generation[...])
                }
            },
            issuerPrivateKey: .init(self.key))
    }
}
