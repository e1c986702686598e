import SallyportDataURL
import SallyportLoading
import SallyportURLLoading
import SallyportUnixSocket

/// The sockets that the app may reach.
enum DaemonSockets: UnixSocketAccess {
    static let allowedSockets: Set = ["/run/daemon.sock"]
}

/// Loads from a URL that contains its answer, and from a daemon of this machine.
func loadWithoutHosts(_ loading: URLLoadingSystem) async throws {
    loading.protocols.register(DataURLHandler.self)
    let text = try await loading.session.data(for: .get("data:text/plain;base64,aGVsbG8=")).body
    print(String(decoding: text, as: UTF8.self))

    loading.protocols.register(UnixSocketHandler<DaemonSockets>.self)
    let version = try await loading.session.data(for: .get("http+unix://%2Frun%2Fdaemon.sock/version")).body
    print(String(decoding: version, as: UTF8.self))
}
