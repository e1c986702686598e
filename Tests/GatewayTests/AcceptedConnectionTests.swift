import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import SallyportBase
import Testing

@testable import SallyportGateway

/// Connections that a listener accepts but never serves, for example because it ends.
@Suite(.timeLimit(.minutes(1))) struct AcceptedConnectionTests {
    private let group = MultiThreadedEventLoopGroup.singleton

    @Test func connectionThatIsNotServedIsClosedAndTheProcessGoesOn() async throws {
        let listener = HTTPListener(
            responder: { _, writer, _ in try await writer.writeResponse(.init(status: .ok)) }, nil,
            Connections(ConnectionLimits(), logger: Logger(label: "test")), as: .control)
        let logger = Logger(label: "test")
        let server = try await ServerBootstrap(group: group)
            .childChannelInitializer { channel in listener.setup(channel: channel, logger: logger).map { _ in } }
            .bind(host: "127.0.0.1", port: 0).get()
        for _ in 0..<20 {
            let client = try await ClientBootstrap(group: group)
                .connect(host: "127.0.0.1", port: try #require(server.localAddress?.port)).get()
            try await client.closeFuture.get()
        }
        try await server.close()
    }
}
