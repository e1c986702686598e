import Foundation
import Glibc
import NIOCore
import NIOPosix
import NIOSSL
import SallyportEventLoop
import Workloads

/// Runs one work with one peer, and prints what it cost.
enum Worker {
    static func run(_ peer: String, _ row: String, _ setting: Setting) async throws {
        guard let peer = Peer(rawValue: peer), let socket = try RowTable.read().row(row).socket else { exit(64) }
        let (work, connections) = (SocketWork(socket.work, socket.amount), socket.connections)
        let cost =
            switch peer {
            case .sallyport: try await sallyport(work, connections, setting, on: nil)
            case .sallyportOnLoop: try await sallyport(work, connections, setting, on: EventLoopGroup.shared.next())
            case .nioSSL: try await nioSSL(work, connections, setting)
            case .openSSL: try await openSSL(work, connections, setting)
            }
        print(String(decoding: try JSONEncoder().encode(cost), as: UTF8.self))
    }

    private static func sallyport(
        _ work: SocketWork, _ connections: Int, _ setting: Setting, on executor: (any TaskExecutor)?
    ) async throws -> SocketTable.Cost {
        let client = try await SocketClient(setting)
        let cost = try await measure {
            try await withTaskExecutorPreference(executor) { try await client.run(work, connections: connections) }
        }
        try await client.shutdown()
        return cost
    }

    private static func openSSL(
        _ work: SocketWork, _ connections: Int, _ setting: Setting
    ) async throws -> SocketTable.Cost {
        let client = try SocketClientInC(setting)
        return try await measure { try client.run(work, connections: connections) }
    }

    private static func nioSSL(
        _ work: SocketWork, _ connections: Int, _ setting: Setting
    ) async throws -> SocketTable.Cost {
        let port = try setting.socketServerPort()
        return try await measure { try await nioSSL(work, connections, port, setting.authorityFile) }
    }

    private static func measure(_ body: () async throws -> Void) async throws -> SocketTable.Cost {
        let (cpu, wall) = (time(CLOCK_PROCESS_CPUTIME_ID), time(CLOCK_MONOTONIC))
        try await body()
        return SocketTable.Cost(cpu: time(CLOCK_PROCESS_CPUTIME_ID) - cpu, wall: time(CLOCK_MONOTONIC) - wall)
    }

    static func time(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    // MARK: NIOSSL

    private typealias Stream = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    private static func nioSSL(
        _ work: SocketWork, _ connections: Int, _ port: Int, _ authority: String
    ) async throws {
        var settings = TLSConfiguration.makeClientConfiguration()
        settings.trustRoots = .file(authority)
        let context = try NIOSSLContext(configuration: settings)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<connections {
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

    private static func carryOut(_ work: SocketWork, over stream: Stream) async throws {
        try await stream.executeThenClose { inbound, outbound in
            var chunks = inbound.makeAsyncIterator()
            try await outbound.write(ByteBuffer(bytes: work.order))
            switch work {
            case .echo(let messages):
                let message = ByteBuffer(repeating: 0, count: SocketWork.size)
                for _ in 0..<messages {
                    try await outbound.write(message)
                    var rest = SocketWork.size
                    while rest > 0, let chunk = try await chunks.next() { rest -= chunk.readableBytes }
                }
            case .download(let bytes):
                var rest = bytes
                while rest > 0, let chunk = try await chunks.next() { rest -= chunk.readableBytes }
            case .upload(let bytes):
                let chunk = ByteBuffer(repeating: 0, count: 64 << 10)
                for _ in 0..<bytes / chunk.readableBytes { try await outbound.write(chunk) }
                _ = try await chunks.next()
            }
        }
    }
}
