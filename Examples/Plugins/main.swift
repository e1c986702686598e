// Plugins: one session that loads from a URL that carries its answer, and from a daemon at a Unix socket; and one that
// records what it loads, or plays what it recorded.
//
//     Plugins SOCKET [TARGET [URL CASSETTE]]
//
// For example `Plugins /run/docker.sock /version`. The app lists the socket that it means; every other one is refused,
// and so is the whole network. With a URL and the file of a cassette it loads the URL once and records the exchange; run
// again, it plays that, and needs the server no more. It ends within 20 s, whatever the daemon and the server do.

import Glibc
import HTTPTypes
import SallyportBase
import SallyportCassette
import SallyportCore
import SallyportDataURL
import SallyportLoading
import SallyportURLLoading
import SallyportUnixSocket

/// The sockets that this program may reach: the one that it was given.
enum GivenSocket: UnixSocketAccess {
    static let allowedSockets = Set(CommandLine.arguments.dropFirst().prefix(1))
}

/// Refuses every host. An app with an authorization passes that instead, or uses `sallyport.protocols`.
struct NoHosts: AccessGate {
    func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess {
        throw AccessDenied(.denied(RoutingTable(default: .deny).decide(endpoint)))
    }
    func checkAuthorized() throws(AccessDenied) {}
    func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation {
        AccessObservation()
    }
}

guard let socket = GivenSocket.allowedSockets.first else {
    print("usage: Plugins SOCKET [TARGET [URL CASSETTE]]")
    exit(64)
}
let target = CommandLine.arguments.dropFirst(2).first ?? "/"

let loading = URLLoadingSystem(gate: NoHosts())
loading.protocols.register(DataURLHandler.self)
loading.protocols.register(UnixSocketHandler<GivenSocket>.self)

/// Prints status, length and the first line of what a URL holds.
func show(_ request: LoadRequest) async throws {
    var request = request
    request.options.resourceTimeout = .seconds(5)
    let answer = try await loading.session.data(for: request, upTo: .mebibytes(1))
    let line = String(decoding: answer.body.prefix(200), as: UTF8.self).split(whereSeparator: \.isNewline).first ?? ""
    print("\(request.url.scheme): \(answer.head.status.code), \(answer.body.count) bytes: \(line)")
}

/// Says why a request is refused.
func showRefusal(of request: LoadRequest) async throws {
    do throws(LoadError) {
        _ = try await loading.session.data(for: request)
    } catch {
        guard error.code == .refusedByPolicy else { throw error }
        print("a socket that is not listed: \(error.code)")
    }
}

/// Lets every host be reached from this machine, for a recording. An app passes its authorization here, too.
struct AllHosts: AccessGate {
    func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess {
        ServerAccess(decision: RoutingTable(default: .direct).decide(endpoint), relay: nil)
    }
    func checkAuthorized() throws(AccessDenied) {}
    func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation {
        AccessObservation()
    }
}

/// Records a load, or plays the one that was recorded.
func showCassette(of url: String, at path: String) async throws {
    let cassette = try await Cassette.open(path, mode: .recordIfMissing)
    var configuration = SessionConfiguration()
    configuration.handlers = [cassette]
    configuration.resourceTimeout = .seconds(5)
    let loading = URLLoadingSystem(gate: AllHosts())
    let answer = try await loading.makeSession(configuration).data(for: .get(url), upTo: .mebibytes(1))
    print("\(cassette.isRecording ? "recorded" : "played"): \(answer.head.status.code), \(answer.body.count) bytes")
    try await cassette.save()
    await loading.shutdown()
}

do {
    try await show(.get("data:text/plain;base64,aGVsbG8="))
    try await show(LoadRequest(.get, UnixSocketURL(socket: socket, target: target).url))
    try await showRefusal(of: .get("http+unix://%2Frun%2Fnot-listed.sock/"))
    let words = Array(CommandLine.arguments.dropFirst(3))
    if words.count == 2 { try await showCassette(of: words[0], at: words[1]) }
} catch {
    print("\(error)")
    exit(1)
}
await loading.shutdown()
