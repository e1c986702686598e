internal import SallyportAuthorization
internal import SallyportCache
internal import SallyportCookies
internal import SallyportCore
internal import SallyportHTTPAuthentication
internal import SallyportLoading
internal import SallyportURLLoading

/// The stages and schemes that an app adds to its sessions.
struct OwnStages: Sendable {
    let stages: SessionStages
    let schemes: [any AuthenticationScheme]
}

/// What Kerberos contributes; nothing without the trait.
struct Tickets {
    let parts: [any InstancePart]
    let followers: [any CredentialFollower]
    let schemes: [any AuthenticationScheme]
}

/// The stages of an instance's sessions between decoding and the connector.
struct InstanceStages: Sendable {
    let own: OwnStages
    /// The schemes besides NTLM, Digest and Basic.
    let further: [any AuthenticationScheme]
    let credentials: CredentialStorage
    let jars: CookieJars
    let cache: SharedCache
    let gate: Authorization

    /// From the top down. Docs/Design.md explains the order.
    func stages(of configuration: SessionConfiguration) -> [any LoadStage] {
        own.stages(configuration)
            + [AuthenticationStage(credentials: credentials, gate: gate, schemes: schemes(of: configuration))]
            + jars.stages(
                of: configuration.cookieJar, acceptPolicy: configuration.cookieAcceptPolicy,
                handlesCookies: configuration.handlesCookies)
            + [CacheStage(cache, gate: gate, policy: configuration.cachePolicy, isOn: configuration.usesCache)]
    }

    /// The app's own come first: of two schemes with the same method, the first is used.
    private func schemes(of configuration: SessionConfiguration) -> [any AuthenticationScheme] {
        let allowsNTLMv1 = configuration.allowsNTLMv1
        let ntlm = NTLMScheme { [gate] in allowsNTLMv1 && gate.allows(NTLMScheme.v1) }
        return own.schemes + further + [ntlm, DigestScheme(), BasicScheme()]
    }
}
