import Foundation
import Glibc
import SallyportBase
import SallyportWire
import TestSupport
import Testing

/// A gateway with a guard, a server inside, and a place for a foreign relay whose certificate comes from elsewhere.
struct ForeignSite: Sendable {
    let intranet: Intranet
    let site: Site
    let setting: ForeignRelaySetting
    /// Where the relay is to listen.
    let port: UInt16
    /// The authority that issued the relay's certificate; PEM file.
    let relayAuthority: String
    private let guardOptions: [String]
    /// The guard, if it is not the gateway's.
    let ownGuard: ChildProcess?

    /// - Parameters:
    ///   - user: as whom the relay asks.
    ///   - hasOwnGuard: whether the guard is a process of its own, which follows the gateway's feed.
    static func start(askedBy user: String, hasOwnGuard: Bool = false) async throws -> ForeignSite {
        let intranet = try await Intranet.start()
        let site = try await Site.start(intranet)
        // The relay's user comes as far as the socket; the gateway's own directory is closed itself.
        #expect(chmod(site.folder.path, 0o711) == 0)
        let corporate = try TestAuthority(name: "Corp CA")
        let port = LoopbackPort.free()
        let authorityFile = try site.folder.write(corporate.pem, to: "corp-ca.pem")
        let server = "\(Intranet.name):\(intranet.port)"
        try await site.admin("cluster", "set", "foreign", "localhost:\(port)", "--authority", authorityFile)
        try await site.admin(
            "server", "add", server, "--app", Site.app, "--route", "relay:foreign", "--address", Intranet.address)
        // What Apache reaches, which has no hosts file of its own.
        try await site.admin("server", "add", "\(Intranet.address):\(intranet.port)", "--route", "relay:foreign")
        // Written by the directory itself, which a running gateway has open.
        try await site.stopGateway()
        let made = try await sallyport(
            "gateway", "certificate", "localhost", "-o", site.folder.path, "--data", site.data)
        try #require(made.status == 0, "\(made.error)")
        for file in ForeignRelaySetting.files {
            #expect(FileManager.default.fileExists(atPath: site.folder.file(file)), "the guide names \(file)")
        }
        let socket = site.folder.file("guard.sock")
        let options = ["--guard", socket, "--allow-user", user, "--guard-port", "\(port)"]
        try await site.startGateway(hasOwnGuard ? [] : options)
        let ownGuard = hasOwnGuard ? try await startGuard(options, beside: site) : nil
        let setting = ForeignRelaySetting(
            identity: try corporate.server(names: ["localhost"]),
            instances: try String(contentsOfFile: site.folder.file("ca.pem"), encoding: .utf8), socket: socket,
            egress: Intranet.egress, names: [Intranet.name: Intranet.address])
        return ForeignSite(
            intranet: intranet, site: site, setting: setting, port: port, relayAuthority: authorityFile,
            guardOptions: options, ownGuard: ownGuard)
    }

    /// Joins the fleet as a relay of the cluster does, and runs a guard.
    private static func startGuard(_ options: [String], beside site: Site) async throws -> ChildProcess {
        let folder = site.folder.file("guard")
        let join = ["gateway", "join", "--data", folder]
        let request = try await words(join + ["--role", "relay", "--name", "guard.localhost", "--cluster", "foreign"])
        let invitation = try await words(["gateway", "invite", request, "--data", site.data])
        _ = try await words(join + [invitation])
        let process = try ChildProcess(
            Programs.gateway, ["gateway", "guard", "--data", folder] + options)
        let isReady = try await eventually(within: .seconds(30)) {
            process.output.hasSuffix("\n") || !process.isRunning
        }
        try #require(isReady && process.isRunning, "\(process.error)")
        return process
    }

    private static func words(_ arguments: [String]) async throws -> String {
        let outcome = try await ChildProcess(Programs.built("sallyport"), arguments).outcome()
        try #require(outcome.status == 0, "\(arguments): \(outcome.error)")
        return outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    func startGateway() async throws { try await site.startGateway(guardOptions) }

    /// The address of a page, with the server's name or its address.
    func url(_ path: String, byAddress: Bool = false) -> String {
        byAddress ? "https://\(Intranet.address):\(intranet.port)\(path)" : intranet.url + path
    }

    // MARK: A client without policy

    /// Two CONNECTs over TLS of a version, the second one over a session that is resumed. Each connection stays open
    /// until it has its answer.
    func resumed(_ version: String, as client: Client) async throws -> String {
        let server = "\(Intranet.name):\(intranet.port)"
        let command =
            "openssl s_client -connect localhost:\(port) -\(version) -CAfile '\(relayAuthority)' "
            + "-cert '\(client.certificate)' -key '\(client.key)'"
        let script = """
            answer='\(client.key).answer'
            connect() {
                printf 'CONNECT \(server) HTTP/1.1\\r\\nHost: \(server)\\r\\n\\r\\n'
                for _ in $(seq 200); do grep -a -q 'HTTP/1.1 [0-9]' "$answer" && break; sleep 0.1; done
            }
            : >"$answer"
            connect | \(command) -sess_out '\(client.key).session' -quiet -no_ign_eof >>"$answer" 2>&1
            grep -a -o 'HTTP/1.1 [0-9]*' "$answer"
            : >"$answer"
            connect | \(command) -sess_in '\(client.key).session' >>"$answer" 2>&1
            grep -a -o -e 'HTTP/1.1 [0-9]*' -e Reused "$answer"
            """
        return try await ChildProcess("/bin/bash", ["-c", script]).outcome().output
    }

    /// An instance whose key the test has.
    struct Client: Sendable {
        let instance: String
        let certificate: String
        let key: String
    }

    /// Enrols a client that speaks to the relay by itself: it asks also for what the policy does not allow.
    func client(_ name: String) async throws -> Client {
        let link = try ActivationLink(await site.link())
        let (key, certificate) = (site.folder.file("\(name).key"), site.folder.file("\(name).pem"))
        let script = """
            set -e -o pipefail
            openssl ecparam -genkey -name prime256v1 -noout -out '\(key)'
            openssl req -new -key '\(key)' -subj /CN=client -outform DER | base64 > '\(key).csr'
            curl -sS --fail --cacert '\(site.folder.file("ca.pem"))' --user '\(link.user):\(link.accessKey.reveal())' \
            -H 'Content-Type: application/pkcs10' -H 'Content-Transfer-Encoding: base64' \
            --data-binary @'\(key).csr' 'https://\(link.gateway)/.well-known/est/simpleenroll' \
            | base64 -di | openssl pkcs7 -inform DER -print_certs -out '\(certificate)'
            openssl x509 -in '\(certificate)' -noout -ext subjectAltName
            """
        let outcome = try await ChildProcess("/bin/bash", ["-c", script]).outcome()
        try #require(outcome.status == 0, "\(outcome.error)")
        let uri = try #require(outcome.output.split(separator: "URI:").last)
        let instance = try #require(uri.split(separator: "/").last).trimmingCharacters(in: .whitespacesAndNewlines)
        return Client(instance: instance, certificate: certificate, key: key)
    }

    /// curl through the relay. It prints what it loads, and at the end the relay's status.
    func load(_ url: String, as client: Client, _ options: String...) throws -> ChildProcess {
        try ChildProcess(
            "/usr/bin/env",
            [
                "curl", "-sS", "-N", "--max-time", "60", "--cacert", intranet.authorityFile, "--proxy",
                "https://localhost:\(port)", "--proxy-cacert", relayAuthority, "--proxy-cert", client.certificate,
                "--proxy-key", client.key, "-w", "%{http_connect}", url,
            ] + options)
    }

    /// The relay's status for one CONNECT.
    func status(_ url: String, as client: Client) async throws -> String {
        let outcome = try await load(url, as: client).outcome(within: .seconds(90))
        return String(outcome.output.suffix(3))
    }

    /// A tunnel through which a page is still being loaded.
    func tunnel(_ client: Client, byAddress: Bool = false) async throws -> ChildProcess {
        let loading = try load(url("/slow", byAddress: byAddress), as: client)
        let isOpen = try await eventually(within: .seconds(30)) {
            loading.output.contains("slow and steady") || !loading.isRunning
        }
        try #require(isOpen && loading.isRunning, "\(loading.output) \(loading.error)")
        return loading
    }
}
