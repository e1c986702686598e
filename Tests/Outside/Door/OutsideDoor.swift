import AsyncHTTPClient
import GRPCCore
import GRPCNIOTransportHTTP2
import NIOCore
import NIOPosix
import OutsideChecks
import OutsideRecipes
import Sallyport

/// Other libraries of the same process through the app's door, as Docs/Door.md shows it.
///
///     OutsideDoor DIRECTORY LINK URL HOST:PORT HOST:PORT ANCHORS
///
/// The servers are one that echoes, and `Greeter`.
@main
struct OutsideDoor {
    private static let usage = "OutsideDoor DIRECTORY LINK URL HOST:PORT HOST:PORT ANCHORS"

    static func main() async throws {
        let (directory, link, url) = (argument(1, usage), argument(2, usage), argument(3, usage))
        let (echo, greeter) = (try Endpoint(argument(4, usage)), try Endpoint(argument(5, usage)))
        let store = "\(directory)/store"
        let activated = try await Sallyport.open(store: store, protectedBy: .keyFile("\(store).key"))
        _ = try await activated.authorization.activate(link: link)
        await activated.shutdown()

        let sallyport = try await OutsideRecipes.openWithDoor(store: store, drivers: [echo, greeter])
        guard let door = sallyport.door else { return show("the app has a door", false) }
        let answer = try await OutsideRecipes.fetch(url, through: door)
        show("AsyncHTTPClient reaches a server inside", answer.status == 200)
        do {
            _ = try await OutsideRecipes.fetch("http://other.example/", through: door)
            show("a server that is not listed is refused", false)
        } catch let error as HTTPClientError {
            show("a server that is not listed is refused", error == .invalidProxyResponse)
        }

        let received = MultiThreadedEventLoopGroup.singleton.next().makePromise(of: String.self)
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton).channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(Reader(received))
            }
        }
        let channel = try await OutsideRecipes.connect(bootstrap, to: echo, through: door)
        try await channel.writeAndFlush(ByteBuffer(string: "hello"))
        try await channel.close(mode: .output)
        show("a NIO bootstrap reaches a server inside", try await received.futureResult.get() == "hello")

        let greeting = try await OutsideRecipes.withGRPC(to: greeter, trusting: argument(6, usage), through: door) {
            try await $0.unary(
                request: ClientRequest(message: "ann"),
                descriptor: MethodDescriptor(fullyQualifiedService: "outside.Greeter", method: "Greet"),
                serializer: Text(), deserializer: Text(), options: .defaults
            ) { try $0.message }
        }
        show("a gRPC channel reaches a server inside", greeting == "hello, ann")
        await sallyport.shutdown()
    }
}

/// Messages of gRPC without a schema.
private struct Text: MessageSerializer, MessageDeserializer {
    func serialize<Bytes: GRPCContiguousBytes>(_ message: String) throws -> Bytes { Bytes(message.utf8) }

    func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> String {
        bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
}

/// Collects what comes until the server ends its side.
private final class Reader: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let promise: EventLoopPromise<String>
    private var text = ""

    init(_ promise: EventLoopPromise<String>) { self.promise = promise }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        text += String(buffer: unwrapInboundIn(data))
    }

    func channelInactive(context: ChannelHandlerContext) { promise.succeed(text) }
}
