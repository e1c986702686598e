#if Kerberos
import Sallyport
import TestSupport
import Testing

/// A realm, its web server and its names in a network of their own, which only the gateway stands in.
///
/// Where no network can be made, ``KerberosTests`` shows the same on loopback addresses, but for the names.
@Suite(.timeLimit(.minutes(2)), .enabled("takes root and network namespaces", NetworkNamespace.isAllowed))
struct KerberosNetworkTests {
    private static let webName = "web.corp.example"
    private static let kdcName = "kdc.corp.example"

    /// The KDC is found only through the enterprise's DNS, and is not reachable from outside.
    @Test func theKDCIsFoundByTheNamesInside() async throws {
        let network = try await NetworkNamespace.make()
        let kdc = try await TestKDC.start(realm: "CORP.EXAMPLE", address: network.inside[1], in: network)
        try await kdc.addUser("ann", password: "secret")
        let apache = try await Apache.withNegotiate(
            keytab: kdc.addService("HTTP/\(Self.webName)"), of: kdc, address: network.inside[2], in: network)
        let names = try await Dnsmasq(
            [
                "host-record=\(Self.kdcName),\(network.inside[1])", "host-record=\(Self.webName),\(network.inside[2])",
                "srv-host=_kerberos._tcp.corp.example,\(Self.kdcName),\(kdc.port)",
            ], at: network.inside[0], in: network)
        let site = try await Site.start(in: network)
        try await site.admin("route", "set", "corp.example", "relay", "--ports", "\(apache.port),\(kdc.port)")
        let sallyport = try await Sallyport.open(
            store: site.folder.file("app"), protectedBy: .keyFile(site.folder.file("app.key")),
            application: .init(Site.app, version: Site.version))
        try await sallyport.authorization.activate(link: try await site.link())
        try await sallyport.authorize()

        var request = try LoadRequest.get(apache.url(host: Self.webName))
        request.options.credential = Credential(user: "ann@CORP.EXAMPLE", password: Redacted("secret"))
        for _ in 1...3 {
            let answer = try await sallyport.session.data(for: request)
            let (body, response) = (answer.body, answer.head)
            #expect(response.status == .ok && String(decoding: body, as: UTF8.self) == "inside", "\(apache.errors)")
        }
        #expect(kdc.count("AS_REQ") == 1 && kdc.count("TGS_REQ") == 1)
        let isAsked = try await eventually { names.log.contains("query[SRV] _kerberos._tcp.corp.example") }
        #expect(isAsked, "\(names.log)")
        let isLookedUp = try await eventually { names.log.contains("query[A] \(Self.kdcName)") }
        #expect(isLookedUp, "the relay asked where it is")
        let direct = try await ChildProcess(
            "/usr/bin/env",
            ["curl", "-s", "-i", "--noproxy", "*", "-m", "2", "http://\(network.inside[2]):\(apache.port)/vault/page"]
        ).outcome()
        #expect(!direct.output.contains("Negotiate"), "no way leads there from outside: \(direct)")
        await sallyport.shutdown()
    }
}
#endif
