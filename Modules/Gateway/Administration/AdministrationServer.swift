internal import Foundation
internal import Glibc
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import SallyportCore
internal import SallyportWire

/// Takes commands over a Unix socket in a 0700 directory, from the owner of the process and from root.
struct AdministrationServer: Sendable {
    private let data: GatewayData
    private let feed: FeedHub
    private let socket: (path: String, directory: DirectoryHandle?)
    private let server: NIOAsyncChannel<AcceptedConnection<Connection>, Never>
    private let logger: Logger

    typealias Connection = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    /// Binds the socket of a data directory.
    static func bind(
        data: GatewayData, feed: FeedHub, path: String, logger: Logger
    ) async throws -> AdministrationServer {
        let directory = AdministrationSocket.directory(of: path)
        // The directory is there, and closed to others, before the socket is bound in it.
        guard mkdir(directory, 0o700) == 0 || errno == EEXIST, chmod(directory, 0o700) == 0 else {
            let reason = String(cString: strerror(errno))
            throw GatewayError(.fileSystem, "The directory \(directory) cannot be made private: \(reason).")
        }
        let socket = try AdministrationSocket.path(of: path)
        unlink(socket.path)
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(unixDomainSocketPath: socket.path) { channel in
                channel.eventLoop.makeCompletedFuture { try AcceptedConnection(bytesOf: channel) }
            }
        return AdministrationServer(data: data, feed: feed, socket: socket, server: server, logger: logger)
    }

    /// Serves until the task is cancelled.
    func run() async throws {
        defer { unlink(socket.path) }
        try await server.executeThenClose { connections in
            try await withThrowingDiscardingTaskGroup { group in
                for try await connection in connections {
                    group.addTask { await serve(connection.take()) }
                }
            }
        }
    }

    private func serve(_ connection: Connection) async {
        do {
            // NIO's channel must be used before it is let go, even if it is refused.
            try await connection.executeThenClose { inbound, outbound in
                guard let actor = try await Self.administrator(connection.channel) else {
                    return logger.notice("An administration connection of another user was refused.")
                }
                var line: [UInt8] = []
                for try await buffer in inbound {
                    line += buffer.readableBytesView
                    guard line.count <= AdministrationSocket.maximumCommand else { return }
                    guard line.last == UInt8(ascii: "\n") else { continue }
                    try await outbound.write(
                        ByteBuffer(bytes: try await answer(line, to: actor) + [UInt8(ascii: "\n")]))
                    line = []
                }
            }
        } catch {
            logger.debug("An administration connection ended.", metadata: ["error": "\(error)"])
        }
    }

    private func answer(_ line: [UInt8], to actor: AuditActor) async throws -> [UInt8] {
        guard let command = try? JSONDecoder().decode(AdministrationCommand.self, from: Data(line)) else {
            let failure = AdministrationReply.Failure(
                name: "invalid", message: "The gateway does not know this command: is it of another version?")
            return try Array(JSONEncoder().encode(AdministrationReply.failure(failure)))
        }
        let reply = await perform(command, by: actor)
        logger.info("An administrator's command was carried out.", metadata: ["command": "\(command.name)"])
        return try Array(JSONEncoder().encode(reply))
    }

    /// Waits until what a command takes away is in force at all relays, for a second at most.
    private func perform(_ command: AdministrationCommand, by actor: AuditActor) async -> AdministrationReply {
        let begin = ContinuousClock.now
        let reply = await data.perform(command, by: actor)
        if case .relays(let entries) = reply { return .relays(await feed.completed(entries)) }
        if case .fleet(var fleet) = reply {
            fleet.relays = await feed.completed(fleet.relays)
            return .fleet(fleet)
        }
        guard command.withdraws, reply.isDone else { return reply }
        guard let report = await feed.report(on: data.followed, since: begin) else { return reply }
        return .atRelays(reply, report)
    }

    /// The user at the other end (SO_PEERCRED, unix(7)); nil if it is neither the owner of this process nor root.
    private static func administrator(_ channel: any Channel) async throws -> AuditActor? {
        guard let provider = channel as? any SocketOptionProvider else { return nil }
        let credentials: PeerCredentials = try await provider.unsafeGetSocketOption(
            level: NIOBSDSocket.OptionLevel.socket, name: NIOBSDSocket.Option(rawValue: SO_PEERCRED)
        ).get()
        let user = credentials.uid
        guard user == getuid() || user == 0 else { return nil }
        let account = try await NIOThreadPool.singleton.runIfActive { AdministrationAccess.accountName(user) }
        return .socket(uid: user, account: account)
    }
}

extension AdministrationCommand {
    /// The case's name: what a log may hold of a command.
    var name: String { String("\(self)".prefix { $0 != "(" }) }
}
