import Glibc
import Sallyport

/// Fetches a file of a web server over byte streams of an activated app, one after the other, as its policy says.
enum AppBulk {
    static func run(_ store: String, _ address: String, _ path: String, times: Int) async throws -> SocketTable.Cost {
        let app = try await Sallyport.open(store: store, protectedBy: .keyFile("\(store)/key"))
        try await app.authorize()
        let (cpu, wall) = (Worker.time(CLOCK_PROCESS_CPUTIME_ID), Worker.time(CLOCK_MONOTONIC))
        for _ in 0..<times {
            let stream = try await app.sockets.connect(to: address, isSecure: false)
            try await stream.write(Array("GET \(path) HTTP/1.0\r\nHost: localhost\r\n\r\n".utf8))
            while try await stream.read() != nil {}
        }
        let cost = SocketTable.Cost(
            cpu: Worker.time(CLOCK_PROCESS_CPUTIME_ID) - cpu, wall: Worker.time(CLOCK_MONOTONIC) - wall)
        await app.shutdown()
        return cost
    }
}
