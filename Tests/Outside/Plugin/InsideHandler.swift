public import SallyportCore
public import SallyportLoading
public import SallyportURLLoading

/// A plugin of an app's own: loads `inside:/PATH` with HTTP over a stream of bytes that it opens.
///
/// The policy says how the server is reached, and whether. What the two say to each other before HTTP begins, such as
/// STARTTLS or a word of greeting, would stand behind `open`.
public struct InsideHandler: RequestHandler {
    private let server: Endpoint

    public init(_ server: Endpoint) { self.server = server }

    public func canHandle(_ request: LoadRequest) -> Bool { request.url.scheme == "inside" }

    public func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        let url = try RequestURL("http://inside.example\(request.url.path)")
        let stream = try await response.tunnels.open(RoutedTunnelRequest(to: server))
        try await response.forward(response.exchange(request, as: url, with: .stream(stream)))
    }
}
