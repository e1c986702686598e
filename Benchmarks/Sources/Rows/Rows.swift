import CountingMark
import Foundation
import SallyportCookies
import SallyportEventLoop
import Workloads

/// Does the work of one row so many times as `SALLYPORT_OPERATIONS` says, and ends: what is counted under valgrind, as
/// the difference between two runs.
///
///     Rows ROW[/PEER]
///
/// `SALLYPORT_BENCH_TABLE` names the table of rows, `SALLYPORT_BENCH_SETTING` where the servers are.
@main
enum Rows {
    /// In a detached task below a synchronous main: valgrind does not run Swift's asynchronous one.
    static func main() {
        Task.detached {
            do {
                try await run()
                exit(0)
            } catch {
                FileHandle.standardError.write(Data("\(error)\n".utf8))
                exit(1)
            }
        }
        while true { sleep(60) }
    }

    private static func run() async throws {
        let words = CommandLine.arguments.dropFirst().first?.split(separator: "/").map(String.init) ?? []
        let variables = ProcessInfo.processInfo.environment
        guard let name = words.first, let operations = variables["SALLYPORT_OPERATIONS"].flatMap({ Int($0) }),
            let setting = variables["SALLYPORT_BENCH_SETTING"]
        else { throw PeerFailure("usage: SALLYPORT_OPERATIONS=COUNT Rows ROW[/PEER]") }
        let row = try RowTable.read().row(name)
        try await run(row, words.count > 1 ? words[1] : "sallyport", operations, Setting.read(setting))
    }

    private static func run(_ row: Row, _ peer: String, _ operations: Int, _ setting: Setting) async throws {
        if let load = row.load {
            try await run(load, peer, operations, setting)
        } else if let socket = row.socket {
            try await run(socket, peer, operations, setting)
        } else {
            // Of its own, so that no run finds what another left.
            let folder = "\(setting.folder)/\(getpid())"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try await run(row, operations, folder, setting)
            try FileManager.default.removeItem(atPath: folder)
        }
    }

    /// The rows whose subject is in a store.
    private static func run(_ row: Row, _ operations: Int, _ folder: String, _ setting: Setting) async throws {
        if let file = row.cached {
            let page = try await CachedPage(file, setting, in: folder)
            sallyport_counting_begins()
            for _ in 0..<operations { try await page.loadBySession() }
            try await page.shutdown()
        } else if row.name == "cookie-field" {
            // Fewer cookies than are timed: to store them takes most of a run, and a field hardly depends on it.
            let store = try await Cookies.fill(folder, sites: 500)
            let stage = try CookieStagePeer(CookieJar(in: store), sites: 500)
            sallyport_counting_begins()
            try await stage.run(stage.with, operations)
            store.close()
        } else {
            throw PeerFailure("the row \(row.name) is not known")
        }
    }

    private static func run(_ load: Row.Load, _ peer: String, _ operations: Int, _ setting: Setting) async throws {
        guard let peer = Peer(rawValue: peer) else { throw PeerFailure("there is no peer \(peer)") }
        var job = try setting.job(load, peer: peer)
        // Else the system's authorities are read before the first request, even over plain HTTP: half of a run.
        job.authorityFile = setting.authorityFile
        let client: any PeerClient =
            switch peer {
            case .sallyport: try await SallyportClient(job: job, isOnLoop: false)
            case .sallyportOnLoop: try await SallyportClient(job: job, isOnLoop: true)
            case .curl: try CurlClient(job: job)
            default: throw PeerFailure("\(peer) is not counted")
            }
        // What is done once for each connection is no part of an operation, nor is the activation.
        _ = try await client.run(url: job.url, total: load.concurrency * 2, concurrency: load.concurrency)
        sallyport_counting_begins()
        _ = try await client.run(url: job.url, total: operations, concurrency: load.concurrency)
        try await client.shutdown()
    }

    private static func run(_ socket: Row.Socket, _ peer: String, _ operations: Int, _ setting: Setting) async throws {
        // An operation is a message, or a MiB.
        let amount = socket.work == .echo ? operations / socket.connections : operations << 20
        let work = SocketWork(socket.work, amount)
        switch peer {
        case "sallyport": try await run(work, socket.connections, setting, on: nil)
        case "loop": try await run(work, socket.connections, setting, on: EventLoopGroup.shared.next())
        case "openSSL": try SocketClientInC(setting).run(work, connections: socket.connections)
        default: throw PeerFailure("\(peer) is not counted")
        }
    }

    private static func run(
        _ work: SocketWork, _ connections: Int, _ setting: Setting, on executor: (any TaskExecutor)?
    ) async throws {
        let client = try await SocketClient(setting)
        // The activation is no part of an operation.
        sallyport_counting_begins()
        try await withTaskExecutorPreference(executor) { try await client.run(work, connections: connections) }
        try await client.shutdown()
    }
}
