import HTTPTypes
import OutsideChecks
import OutsideScheme
import SallyportAuthorization
import SallyportBase
import SallyportConnecting
import SallyportCookies
import SallyportCore
import SallyportHTTPAuthentication
import SallyportLoading
import SallyportSecureStore
import SallyportURLLoading

/// Sessions with chosen stages: an own one, a scheme of an app's own, and cookies; no cache, no Basic, Digest or NTLM.
///
///     OutsideSessions DIRECTORY LINK URL
@main
struct OutsideSessions {
    private static let usage = "OutsideSessions DIRECTORY LINK URL"

    static func main() async throws {
        let (directory, link, url) = (argument(1, usage), argument(2, usage), argument(3, usage))
        let store = try await SecureStore.open(at: "\(directory)/store", protectedBy: .keyFile("\(directory)/key"))
        let authorization = try Authorization.open(store: store)
        let connector = Connector(gate: authorization, decisions: authorization)
        let jars = CookieJars(in: store, gate: authorization)
        let credentials = CredentialStorage(in: store, followedBy: [jars])
        let loading = URLLoadingSystem(
            connector: connector,
            stages: { configuration in
                [
                    NamingStage(name: "report/1.0"),
                    AuthenticationStage(credentials: credentials, gate: authorization, schemes: [PassScheme()]),
                ] + jars.stages(of: configuration.cookieJar)
            }, sites: PublicSuffixSites())
        let parts = InstanceParts(of: authorization, [loading, connector, credentials, jars])
        try await authorization.activate(link: link)

        try await load(url, in: loading.session, credentials)
        await parts.shutdown()
        store.close()
    }

    /// The server says which fields it got, and counts.
    private static func load(
        _ url: String, in session: SecureSession, _ credentials: CredentialStorage
    ) async throws {
        var request = try LoadRequest.get(url)
        request.options.credential = Credential(user: "ann", password: Redacted("open"))
        let first = try await session.data(for: request)
        let text = String(decoding: first.body, as: UTF8.self)
        show("the scheme answers the server's challenge", first.head.status == .ok && text.contains("Pass open"))
        show("the stage stands in the way of each request", text.contains("report/1.0"))

        let second = try await session.data(for: .get(url))
        show("what the server accepted is sent unasked", second.head.status == .ok)
        show("its cookie comes back", String(decoding: second.body, as: UTF8.self).contains("seen=1"))
        show("no cache answers, though it might", second.body != first.body)

        await credentials.clear()
        let third = try await session.data(for: .get(url))
        let isForgotten = !String(decoding: third.body, as: UTF8.self).contains("seen=1")
        show("with the credential goes the cookie", third.head.status == .unauthorized && isForgotten)
    }
}
