import AsyncHTTPClient
public import GRPCCore
public import GRPCNIOTransportHTTP2
public import NIOCore
import NIOHTTP1
public import NIOPosix
public import Sallyport

// recipe: door-open
/// Opens a door with the app: AsyncHTTPClient, drivers and other programs go the app's way through it.
public func openWithDoor(store: String, drivers servers: [Endpoint]) async throws -> Sallyport {
    var door = DoorConfiguration(listeningOn: [.loopback()])
    // Drivers that know no proxy connect to these.
    door.forwards = servers.map { .init(from: .loopback(), to: $0) }
    door.onRecord = { record in print(record.json) }
    let sallyport = try await Sallyport.open(store: store, protectedBy: .keyFile("\(store).key"), door: door)
    try await sallyport.authorize()
    return sallyport
}
// end

// recipe: door-async-http-client
/// AsyncHTTPClient through the door, by CONNECT. What the policy refuses fails with its `invalidProxyResponse`.
public func fetch(_ url: String, through door: Door) async throws -> (status: UInt, body: String) {
    guard let port = await door.proxyPlaces.first?.port else { throw DoorIsClosed() }
    var configuration = HTTPClient.Configuration()
    configuration.proxy = .server(host: "127.0.0.1", port: port)
    let client = HTTPClient(configuration: configuration)
    do {
        let response = try await client.execute(HTTPClientRequest(url: url), timeout: .seconds(10))
        let body = try await response.body.collect(upTo: 1 << 20)
        try await client.shutdown()
        return (UInt(response.status.code), String(buffer: body))
    } catch {
        try await client.shutdown()
        throw error
    }
}
// end

// recipe: door-nio
/// A NIO bootstrap, as the drivers of databases have one, through a forwarded place: it connects to loopback, and TLS
/// checks the server's own name.
public func connect(
    _ bootstrap: ClientBootstrap, to server: Endpoint, through door: Door
) async throws -> any Channel {
    guard let port = await door.place(leadingTo: server)?.port else { throw DoorIsClosed() }
    return try await bootstrap.connect(host: "127.0.0.1", port: port).get()
}
// end

// recipe: door-grpc
/// A client of grpc-swift 2 through a forwarded place: it connects to loopback, and TLS checks the server's own name.
public func withGRPC<Result: Sendable>(
    to server: Endpoint, trusting anchors: String, through door: Door,
    _ body: @Sendable (GRPCClient<HTTP2ClientTransport.Posix>) async throws -> Result
) async throws -> Result {
    guard let port = await door.place(leadingTo: server)?.port else { throw DoorIsClosed() }
    let transport = try HTTP2ClientTransport.Posix(
        target: .ipv4(address: "127.0.0.1", port: port),
        transportSecurity: .tls { $0.trustRoots = .certificates([.file(path: anchors, format: .pem)]) },
        config: .defaults { $0.http2.authority = "\(server.host)" })
    return try await withGRPCClient(transport: transport) { try await body($0) }
}
// end

/// The door is not open, or has no place that leads to the server.
public struct DoorIsClosed: Error {}
