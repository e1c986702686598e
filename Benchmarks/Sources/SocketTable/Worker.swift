import Foundation
import Glibc
import NIOCore
import NIOPosix
import NIOSSL
import SallyportCore
import SallyportEventLoop
import SallyportLoading
import SallyportSocket
import SocketPeer

/// Runs one work with one peer, and prints what it cost.
enum Worker {
    static func run(_ peer: String, _ work: String, port: Int, authority: String) async throws {
        guard let peer = Peer(rawValue: peer), let work = Work(rawValue: work) else { exit(64) }
        let (cpu, wall) = (time(CLOCK_PROCESS_CPUTIME_ID), time(CLOCK_MONOTONIC))
        switch peer {
        case .sallyport: try await sallyport(work, port, authority)
        case .sallyportOnLoop:
            try await withTaskExecutorPreference(EventLoopGroup.shared.next()) {
                try await sallyport(work, port, authority)
            }
        case .nioSSL: try await nioSSL(work, port, authority)
        case .openSSL: try openSSL(work, port, authority)
        }
        let cost = SocketTable.Cost(
            cpu: time(CLOCK_PROCESS_CPUTIME_ID) - cpu, wall: time(CLOCK_MONOTONIC) - wall)
        print(String(decoding: try JSONEncoder().encode(cost), as: UTF8.self))
    }

    private static func time(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func order(_ work: Work) -> [UInt8] {
        let count = withUnsafeBytes(of: UInt64(Work.octets).bigEndian) { Array($0) }
        return switch work {
        case .echo, .echoMany: [UInt8(ascii: "e")]
        case .download: [UInt8(ascii: "d")] + count
        case .upload: [UInt8(ascii: "u")] + count
        }
    }

    // MARK: Sallyport

    private struct Direct: AccessGate {
        func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess {
            ServerAccess(decision: RoutingTable(default: .direct).decide(endpoint), relay: nil)
        }
        func checkAuthorized() throws(AccessDenied) {}
        func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation {
            AccessObservation()
        }
    }

    @concurrent private static func sallyport(_ work: Work, _ port: Int, _ authority: String) async throws {
        let sockets = SocketSystem(gate: Direct())
        var configuration = SocketConfiguration()
        configuration.trust = try .only(pemFile: authority)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<work.connections {
                group.addTask { [configuration] in
                    let connection = try await sockets.connect(
                        to: "localhost:\(port)", isSecure: true, configuration)
                    try await carryOut(work, over: connection)
                    connection.reset()
                }
            }
            try await group.waitForAll()
        }
        await sockets.shutdown()
    }

    @concurrent private static func carryOut(_ work: Work, over connection: ByteStream) async throws {
        try await connection.write(order(work))
        switch work {
        case .echo, .echoMany:
            let message = [UInt8](repeating: 0, count: Work.size)
            for _ in 0..<work.messages {
                try await connection.write(message)
                var rest = Work.size
                while rest > 0, let chunk = try await connection.read() { rest -= chunk.count }
            }
        case .download:
            var rest = Work.octets
            while rest > 0, let chunk = try await connection.read() { rest -= chunk.count }
        case .upload:
            let chunk = [UInt8](repeating: 0, count: 64 << 10)
            for _ in 0..<Work.octets / chunk.count { try await connection.write(chunk) }
            _ = try await connection.read()
        }
    }

    // MARK: NIOSSL

    private typealias Stream = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    private static func nioSSL(_ work: Work, _ port: Int, _ authority: String) async throws {
        var settings = TLSConfiguration.makeClientConfiguration()
        settings.trustRoots = .file(authority)
        let context = try NIOSSLContext(configuration: settings)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<work.connections {
                group.addTask {
                    let stream: Stream = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                        .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                        .connect(host: "localhost", port: port) { channel in
                            channel.eventLoop.makeCompletedFuture {
                                let tls = try NIOSSLClientHandler(context: context, serverHostname: "localhost")
                                try channel.pipeline.syncOperations.addHandler(tls)
                                return try Stream(wrappingChannelSynchronously: channel)
                            }
                        }
                    try await carryOut(work, over: stream)
                }
            }
            try await group.waitForAll()
        }
    }

    private static func carryOut(_ work: Work, over stream: Stream) async throws {
        try await stream.executeThenClose { inbound, outbound in
            var chunks = inbound.makeAsyncIterator()
            try await outbound.write(ByteBuffer(bytes: order(work)))
            switch work {
            case .echo, .echoMany:
                let message = ByteBuffer(repeating: 0, count: Work.size)
                for _ in 0..<work.messages {
                    try await outbound.write(message)
                    var rest = Work.size
                    while rest > 0, let chunk = try await chunks.next() { rest -= chunk.readableBytes }
                }
            case .download:
                var rest = Work.octets
                while rest > 0, let chunk = try await chunks.next() { rest -= chunk.readableBytes }
            case .upload:
                let chunk = ByteBuffer(repeating: 0, count: 64 << 10)
                for _ in 0..<Work.octets / chunk.readableBytes { try await outbound.write(chunk) }
                _ = try await chunks.next()
            }
        }
    }

    // MARK: OpenSSL

    private static func openSSL(_ work: Work, _ port: Int, _ authority: String) throws {
        let failures =
            switch work {
            case .echo, .echoMany:
                socket_peer_echo(
                    Int32(port), authority, Int32(Work.size), Int32(work.messages), Int32(work.connections))
            case .download: socket_peer_bulk(Int32(port), authority, UInt64(Work.octets), 0)
            case .upload: socket_peer_bulk(Int32(port), authority, UInt64(Work.octets), 1)
            }
        guard failures == 0 else { exit(1) }
    }
}
