import SallyportCore
public import SallyportLoading
public import SallyportURLLoading

/// Where the daemon is that an app means.
public protocol DaemonPlace: Sendable {
    /// The path of its socket, of at most 107 bytes.
    static var socket: String { get }
}

/// A plugin of an app's own: loads `daemon:/PATH` with HTTP from a daemon at a Unix socket.
///
/// The administrator's policy does not cover it: the app names the one socket in its code.
public struct DaemonHandler<Place: DaemonPlace>: ProtocolHandler {
    public init() {}

    public static func canHandle(_ request: LoadRequest) -> Bool { request.url.scheme == "daemon" }

    public func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        guard let url = try? RequestURL("http://daemon\(request.url.path)") else {
            throw LoadError(.invalidRequest, "The URL has no path.")
        }
        try await response.forward(response.exchange(request, as: url, with: .unixSocket(Place.socket)))
    }
}
