import AsyncHTTPClient
public import NIOCore
import NIOHTTP1
public import NIOPosix
public import Sallyport

// recipe: door-open
/// Opens a door with the app: AsyncHTTPClient, drivers and other programs go the app's way through it.
public func openWithDoor(store: String, database: Endpoint) async throws -> Sallyport {
    var door = DoorConfiguration(listeningOn: [.loopback()])
    // A driver that knows no proxy connects here.
    door.forwards = [.init(from: .loopback(), to: database)]
    door.onRecord = { record in print(record.json) }
    let sallyport = try await Sallyport.open(store: store, protectedBy: .keyFile("\(store).key"), supportsDoor: door)
    try await sallyport.authorize()
    return sallyport
}
// end

// recipe: door-async-http-client
/// AsyncHTTPClient through the door, by CONNECT. What the policy refuses fails with its `invalidProxyResponse`.
public func fetch(_ url: String, through door: Door) async throws -> (status: UInt, body: String) {
    guard case .tcp(_, let port)? = await door.proxyPlaces.first else { return (0, "") }
    var configuration = HTTPClient.Configuration()
    configuration.proxy = .server(host: "127.0.0.1", port: Int(port))
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
/// A NIO bootstrap, as PostgreSQL and gRPC drivers have one, through a forwarded place: it connects to loopback, and TLS
/// checks the server's own name.
public func connect(_ bootstrap: ClientBootstrap, through door: Door) async throws -> any Channel {
    let places = await door.places
    let proxies = await door.proxyPlaces
    guard case .tcp(_, let port)? = places.dropFirst(proxies.count).first else { throw ChannelError.connectPending }
    return try await bootstrap.connect(host: "127.0.0.1", port: Int(port)).get()
}
// end
