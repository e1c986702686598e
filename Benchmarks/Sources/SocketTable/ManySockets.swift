import Foundation
import Glibc
import Sallyport

/// Opens this many sockets through a gateway, sends and receives a byte over each, and prints the answer to one more.
/// Then prints `open` and waits for the end of its input, so that the calling script can measure the processes.
enum ManySockets {
    static func run(_ count: Int, _ store: String, _ address: String) async throws {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let app = try await Sallyport.open(store: store, protectedBy: .keyFile("\(store)/key"))
        try await app.authorize()
        var configuration = SocketConfiguration()
        configuration.connectTimeout = .seconds(60)
        let idle = resident()
        let start = ContinuousClock.now
        var connections: [ByteStream] = []
        while connections.count < count {
            connections += try await open(min(50, count - connections.count), app, address, configuration)
        }
        print("open \(connections.count) in \(start.duration(to: .now)), \(idle) \(resident())")
        do {
            _ = try await app.sockets.connect(to: address, isSecure: false, configuration)
            print("one more: opened")
        } catch {
            print("one more: \(error)")
        }
        fflush(nil)
        _ = readLine()
        for connection in connections { connection.reset() }
        await app.shutdown()
    }

    private static func open(
        _ count: Int, _ app: Sallyport, _ address: String, _ configuration: SocketConfiguration
    ) async throws -> [ByteStream] {
        try await withThrowingTaskGroup(of: ByteStream.self) { group in
            for _ in 0..<count {
                group.addTask {
                    let connection = try await app.sockets.connect(to: address, isSecure: false, configuration)
                    try await connection.write([42])
                    guard try await connection.read() == [42] else { exit(1) }
                    return connection
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    /// KiB.
    private static func resident() -> Int {
        let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .ascii)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    }
}
