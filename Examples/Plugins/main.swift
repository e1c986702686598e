// Plugins: one session that loads from a URL that carries its answer, and from a daemon at a Unix socket.
//
//     Plugins SOCKET [TARGET]
//
// For example `Plugins /run/docker.sock /version`. The app lists the socket that it means; every other one is refused,
// and so is the whole network, which this program does not need. It ends within 10 s, whatever the daemon does.
import Glibc
import HTTPTypes
import SallyportCore
import SallyportDataURL
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
    func onWithdrawal(_ observer: @escaping @Sendable (AccessDenied) -> Void) -> WithdrawalObservation {
        WithdrawalObservation {}
    }
}

guard let socket = GivenSocket.allowedSockets.first else {
    print("usage: Plugins SOCKET [TARGET]")
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
    let (body, response) = try await loading.session.data(for: request, upTo: .megabytes(1))
    let line = String(decoding: body.prefix(200), as: UTF8.self).split(whereSeparator: \.isNewline).first ?? ""
    print("\(request.url.scheme): \(response.status.code), \(body.count) octets: \(line)")
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

do {
    try await show(.get("data:text/plain;base64,aGVsbG8="))
    try await show(LoadRequest(.get, UnixSocketURL(socket: socket, target: target).url))
    try await showRefusal(of: .get("http+unix://%2Frun%2Fnot-listed.sock/"))
} catch {
    print("\(error)")
    exit(1)
}
await loading.shutdown()
