public import HTTPTypes
internal import SallyportBase
public import SallyportCore
public import SallyportLoading

/// A request for a path, at any of several servers that serve the same.
public struct PathRequest: Sendable {
    /// An idempotent method (RFC 9110 §9.2.2) may be sent to another server after a failure that leaves open whether
    /// the first one has processed it.
    public var method: HTTPRequest.Method
    /// Path and query; begins with a slash.
    public var path: String
    /// The app's own fields, the same for each server.
    public var headerFields: HTTPFields
    /// A body that can be read only once keeps the request from being sent to a second server.
    public var body: RequestBody?
    /// The settings that differ from the session's. The time for the whole load holds for all servers together.
    public var options: LoadOptions
    /// Whether the servers speak `https`; otherwise `http`.
    public var isSecure: Bool

    /// - Parameters:
    ///   - method: `GET` by default.
    ///   - path: path and query; begins with a slash, or the load ends with `invalidRequest`.
    ///   - headerFields: the app's own fields.
    ///   - body: the bytes to send; nil for none.
    ///   - options: the settings that differ from the session's.
    ///   - isSecure: whether the servers speak `https`; by default they do.
    public init(
        _ method: HTTPRequest.Method = .get, _ path: String, headerFields: HTTPFields = [:], body: RequestBody? = nil,
        options: LoadOptions = LoadOptions(), isSecure: Bool = true
    ) {
        (self.method, self.path, self.headerFields, self.body) = (method, path, headerFields, body)
        (self.options, self.isSecure) = (options, isSecure)
    }

    /// Whether the request may be processed twice (RFC 9110 §9.2.2).
    var isIdempotent: Bool { [.get, .head, .options, .trace, .put, .delete].contains(method) }

    /// The request to one server, for which `time` is left.
    ///
    /// - Parameter mayWait: whether it waits for connectivity to this server, if the load waits at all.
    func request(
        to server: ApplicationServer, within time: Duration, mayWait: Bool
    ) throws(LoadError) -> LoadRequest {
        guard path.utf8.first == UInt8(ascii: "/") else {
            throw LoadError(.invalidRequest, "A path begins with a slash.")
        }
        guard time > .zero else {
            throw LoadError(.resourceTimeout, at: .connect, "The time for all servers together is over.")
        }
        let url: RequestURL
        do throws(AddressError) {
            url = try RequestURL("\(isSecure ? "https" : "http")://\(server.endpoint)\(path)")
        } catch {
            throw LoadError(.invalidRequest, "The path is not valid: \(error.message)", underlying: error)
        }
        var options = options
        options.resourceTimeout = time
        if !mayWait { options.waitsForConnectivity = false }
        return LoadRequest(method, url, headerFields: headerFields, body: body, options: options)
    }
}

/// The servers to which a ``PathRequest`` may go.
public struct ServerChoice: Sendable {
    private enum Source: Sendable {
        case application
        case listed([ApplicationServer])
    }
    private let source: Source

    /// The application's own servers, as the administrator lists them at the time of the load.
    public static let applicationServers = ServerChoice(source: .application)

    /// These servers.
    public static func servers(_ servers: [ApplicationServer]) -> ServerChoice {
        ServerChoice(source: .listed(servers))
    }

    /// The servers in the order in which they are tried: by priority, at random within one.
    ///
    /// - Throws: `notAuthorized` or `withdrawn`; `cannotFindHost` if there is none.
    func inOrder(under gate: (any AccessGate)?) throws(LoadError) -> [ApplicationServer] {
        let servers: [ApplicationServer]
        switch source {
        case .listed(let listed): servers = listed
        case .application:
            do throws(AccessDenied) {
                servers = try gate?.applicationServers() ?? []
            } catch {
                throw LoadError(error)
            }
        }
        guard !servers.isEmpty else {
            throw LoadError(.cannotFindHost, at: .routing, "The administrator lists no server of the app.")
        }
        return ServerSelection.order(servers, priority: \.priority)
    }
}
