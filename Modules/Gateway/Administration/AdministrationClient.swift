internal import Foundation
internal import Glibc
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import SallyportCore
package import SallyportSecureStore

/// Sends a command to the running gateway; if none runs, opens the directory and executes the command itself.
package struct AdministrationClient: Sendable {
    private let path: String
    private let protector: any KeyProtector
    private let patience: Duration
    private let databases: DatabaseOpener?
    /// How long a process waits for another one that uses the directory for a moment: a command that is carried out, or
    /// a gateway that starts or ends.
    static let standardPatience: Duration = .seconds(5)

    private typealias Connection = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    /// - Parameters:
    ///   - patience: how long to wait for another process that uses the directory, but does not listen.
    ///   - databases: opens the database of the gateway's fleet.
    package init(
        data path: String, protectedBy protector: any KeyProtector, patience: Duration = standardPatience,
        through databases: DatabaseOpener? = nil
    ) {
        self.databases = databases
        self.path = path
        self.protector = protector
        self.patience = patience
    }

    /// - Throws: `forbidden` if the gateway is another user's and this is not root; `unreachable` if it gives no answer;
    ///   and the errors of opening the directory.
    package func perform(_ command: AdministrationCommand) async throws -> AdministrationReply {
        let deadline = ContinuousClock.now.advanced(by: patience)
        while true {
            if let reply = try await ask(command) { return reply }
            if let data = try await open(before: deadline) {
                let reply = await data.perform(command, by: AuditActor.processUser())
                await data.close()
                return reply
            }
        }
    }

    /// Opens the directory, to serve it.
    ///
    /// - Throws: `inUse` at once if a gateway listens, and after some time if another process keeps the directory open.
    func open() async throws -> GatewayData {
        let deadline = ContinuousClock.now.advanced(by: patience)
        while true {
            if let data = try await open(before: await isServed() ? .now : deadline) { return data }
        }
    }

    /// Whether a gateway listens. It is not asked anything: one that ends gives no answer, and is waited for.
    private func isServed() async -> Bool {
        guard let connection = try? await connect() else { return false }
        try? await connection.executeThenClose { _, _ in }
        return true
    }

    /// Nil after a moment if another process has the directory open.
    private func open(before deadline: ContinuousClock.Instant) async throws -> GatewayData? {
        do {
            return try await GatewayDirectory.open(path, protectedBy: protector, through: databases)
        } catch let error as GatewayError where error.code == .inUse && ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(50))
            return nil
        }
    }

    /// nil where no gateway listens.
    private func ask(_ command: AdministrationCommand) async throws -> AdministrationReply? {
        guard try AdministrationAccess.hasSocket(in: path) else { return nil }
        let line = try Array(JSONEncoder().encode(command)) + [UInt8(ascii: "\n")]
        guard line.count <= AdministrationSocket.maximumCommand else {
            throw GatewayError(.invalid, "A command has at most \(AdministrationSocket.maximumCommand) bytes.")
        }
        // Whatever can fail comes before: NIO's channel must be used once it is there.
        guard let connection = try await connect() else { return nil }
        return try reply(in: await answer(to: line, over: connection))
    }

    /// Empty where the gateway closed the connection instead.
    private func answer(to line: [UInt8], over connection: Connection) async throws -> [UInt8] {
        do {
            return try await connection.executeThenClose { inbound, outbound in
                try await outbound.write(ByteBuffer(bytes: line))
                var answer: [UInt8] = []
                for try await buffer in inbound {
                    answer += buffer.readableBytesView
                    if answer.last == UInt8(ascii: "\n") || answer.count > AdministrationSocket.maximumAnswer { break }
                }
                return answer
            }
        } catch let error where error is IOError || error is ChannelError {
            return []
        }
    }

    private func reply(in answer: [UInt8]) throws(GatewayError) -> AdministrationReply {
        guard !answer.isEmpty else {
            try AdministrationAccess.checkOwner(in: path)
            throw GatewayError(.unreachable, "The gateway of \(path) gave no answer: is it ending?")
        }
        guard answer.count <= AdministrationSocket.maximumAnswer else {
            throw GatewayError(
                .unreachable, "The gateway's answer is longer than \(AdministrationSocket.maximumAnswer) bytes.")
        }
        guard let reply = try? JSONDecoder().decode(AdministrationReply.self, from: Data(answer)) else {
            throw GatewayError(.unreachable, "The gateway's answer is not understood: is it of another version?")
        }
        return reply
    }

    /// nil where no gateway listens.
    private func connect() async throws(GatewayError) -> Connection? {
        let socket = try AdministrationSocket.path(of: path)
        defer { withExtendedLifetime(socket.directory) {} }
        do {
            return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connectTimeout(.seconds(5))
                .connect(unixDomainSocketPath: socket.path) { channel in
                    channel.eventLoop.makeCompletedFuture { try Connection(wrappingChannelSynchronously: channel) }
                }
        } catch let error as IOError where error.errnoCode == EACCES || error.errnoCode == EPERM {
            throw AdministrationAccess.refusal(in: path)
        } catch {
            return nil
        }
    }
}
