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

    /// Clients connect until the socket is gone: the server accepts some of them when it no longer serves.
    @Test func administrationThatEndsClosesWhatItHasAcceptedAndTheProcessGoesOn() async throws {
        let fixture = try await DataFixture()
        for _ in 0..<20 {
            let server = try await AdministrationServer.bind(
                data: fixture.data, feed: .patient(fixture.data), path: fixture.path, logger: Logger(label: "test"))
            let serving = Task { try await server.run() }
            let path = AdministrationSocket.plainPath(of: fixture.path)
            let clients = (0..<64).map { _ in ClientBootstrap(group: group).connect(unixDomainSocketPath: path) }
            try await clients[0].get().close()
            serving.cancel()
            for client in clients {
                guard let channel = try? await client.get() else { continue }
                try? await channel.close()
            }
            _ = await serving.result
        }
        await fixture.data.close()
    }
}
