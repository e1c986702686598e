internal import Glibc
internal import SallyportBase
public import SallyportCore
internal import SallyportLoading

/// Authentication by user name and password, of which the server sees only responses to its challenges, once for each
/// connection (MS-NLMP, MS-NTHT).
public struct NTLMScheme: ConnectionScheme {
    private let allowsV1: @Sendable () -> Bool
    private let surroundings: Surroundings

    /// The sources of randomness and time.
    package struct Surroundings: Sendable {
        /// 8 unpredictable bytes.
        package var nonce: @Sendable () -> [UInt8]
        /// Tenths of a microsecond since 1601.
        package var time: @Sendable () -> UInt64

        package init(nonce: @escaping @Sendable () -> [UInt8], time: @escaping @Sendable () -> UInt64) {
            (self.nonce, self.time) = (nonce, time)
        }

        package static let system = Surroundings(nonce: randomBytes, time: systemTime)
    }

    /// The name of NTLMv1 and NTLM2 session in the administrator's policy.
    public static let v1 = AuthenticationMethod("ntlmv1")

    /// Answers with NTLMv2 only, by default.
    ///
    /// - Parameter allowsV1: called for each authentication: whether servers without NTLMv2 are answered with NTLM2
    ///   session and NTLMv1, both of which an eavesdropper can break.
    public init(allowsV1: @escaping @Sendable () -> Bool = { false }) {
        self.init(in: .system, allowsV1: allowsV1)
    }

    package init(in surroundings: Surroundings, allowsV1: @escaping @Sendable () -> Bool = { false }) {
        self.allowsV1 = allowsV1
        self.surroundings = surroundings
    }

    /// `ntlm`.
    public var method: AuthenticationMethod { .ntlm }

    /// Without data, or with a challenge that can be answered.
    public func takes(_ offered: OfferedScheme) -> Bool {
        offered.parameters.isEmpty
            && offered.token68.map { NTLMToken.bytes($0).flatMap(NTLMChallenge.init) != nil } != false
    }

    public func makeSession(
        _ offered: OfferedScheme, in space: ProtectionSpace, of principal: Principal
    ) -> (any AuthenticationSession)? {
        NTLMSession()
    }

    func dialogue(
        with host: String, _ credential: Credential, over lease: ConnectionLease, hasBody: Bool
    ) throws(LoadError) -> NTLMDialogue {
        let exchange = try NTLMExchange(credential, to: host, allowsV1() ? .all : .v2)
        return NTLMDialogue(exchange, over: lease, hasBody: hasBody, in: surroundings)
    }

    private static func randomBytes() -> [UInt8] {
        var numbers = SystemRandomNumberGenerator()
        return numbers.next().littleEndianBytes
    }

    private static func systemTime() -> UInt64 {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        let sinceUnix = UInt64(clamping: now.tv_sec) &* 10_000_000 &+ UInt64(clamping: now.tv_nsec) / 100
        return sinceUnix &+ 116_444_736_000_000_000
    }
}

/// One principal's NTLM protection space: its connections.
final class NTLMSession: ConnectionSession {
    private let leases = ConnectionLeases()

    func challenged(by offered: OfferedScheme, over binding: ChannelBinding?) {}

    /// The authentication of a connection applies to all paths.
    func scopes(of url: RequestURL) -> [String] { ["/"] }

    func refused(_ credential: Credential) { leases.forget(credential) }

    func end() { leases.end() }

    func dialogue(
        by scheme: any AuthenticationScheme, for request: LoadRequest, with credential: Credential,
        at place: ConnectionPlace, isFresh: Bool, until deadline: ContinuousClock.Instant
    ) async throws(LoadError) -> any ConnectionDialogue {
        guard let scheme = scheme as? NTLMScheme, let host = request.url.endpoint?.host else {
            throw LoadError(.internalFailure, at: .request, "Another scheme's session.")
        }
        let lease = try await leases.take(for: credential, at: place, isFresh: isFresh, until: deadline)
        return try scheme.dialogue(with: host.bareText, credential, over: lease, hasBody: request.body != nil)
    }
}
