internal import Foundation
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import SallyportCore
package import SallyportSecureStore

/// Sends a command to the running gateway; if none runs, opens the directory and executes the command itself.
package struct AdministrationClient: Sendable {
    private let path: String
    private let protector: any KeyProtector

    package init(data path: String, protectedBy protector: any KeyProtector) {
        self.path = path
        self.protector = protector
    }

    package func perform(_ command: AdministrationCommand) async throws -> AdministrationReply {
        if let reply = try await ask(command) { return reply }
        let data = try await GatewayDirectory.open(path, protectedBy: protector)
        let reply = await data.perform(command)
        await data.close()
        return reply
    }

    /// nil where no gateway listens.
    private func ask(_ command: AdministrationCommand) async throws -> AdministrationReply? {
        guard FileManager.default.fileExists(atPath: AdministrationSocket.directory(of: path)) else { return nil }
        let socket = try AdministrationSocket.path(of: path)
        let channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>
        do {
            channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connectTimeout(.seconds(5))
                .connect(unixDomainSocketPath: socket.path) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                    }
                }
        } catch {
            return nil
        }
        defer { withExtendedLifetime(socket.directory) {} }
        let line = try Array(JSONEncoder().encode(command)) + [UInt8(ascii: "\n")]
        let answer = try await channel.executeThenClose { inbound, outbound -> [UInt8] in
            try await outbound.write(ByteBuffer(bytes: line))
            var answer: [UInt8] = []
            for try await buffer in inbound {
                answer += buffer.readableBytesView
                if answer.last == UInt8(ascii: "\n") || answer.count > AdministrationSocket.maximumMessage { break }
            }
            return answer
        }
        guard let reply = try? JSONDecoder().decode(AdministrationReply.self, from: Data(answer)) else {
            throw GatewayError(.unreachable, "The gateway gave no answer: is this its owner, or root?")
        }
        return reply
    }
}
