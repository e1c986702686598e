import Foundation
import SallyportCore
import SallyportGateway
import SallyportSecureStore

/// A gateway for the compositions, which end before it: lets ann activate as often as she wants, and reach the servers.
///
///     Enterprise DIRECTORY NAME=PORT…
///
/// Each server is `NAME.corp.example:PORT`, and stands on this machine. Prints where it listens, then a link for each line
/// that it reads; ends when there are no more.
@main
struct Enterprise {
    private static let (user, entitlement, version) = ("ann@corp.example", "com.example.report", "1.0.0.0")

    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        let (data, key) = ("\(arguments[1])/gateway", "\(arguments[1])/gateway.key")
        try await Gateway.create(at: data, name: "localhost", protectedBy: .keyFile(key))
        let gateway = try await Gateway(at: data, protectedBy: .keyFile(key), configuration: .loopback)
        async let running: Void = gateway.run()

        try await gateway.addApplication(entitlement, version: version)
        for server in arguments.dropFirst() {
            let parts = server.split(separator: "=")
            let endpoint = try Endpoint("\(parts[0]).corp.example:\(parts[1])")
            try await gateway.addServer(endpoint, of: entitlement, at: IPAddress("127.0.0.1"))
        }
        try await gateway.addUser(user)
        try await gateway.entitle(user, to: entitlement, version: version)

        say("control \(try await gateway.listeners().controlPort)")
        for await _ in lines() {
            say("link \(try await gateway.invite(user, to: entitlement))")
        }
        await gateway.shutdown()
        try await running
    }

    /// Prints a line at once, also into a file.
    private static func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

    /// Of standard input.
    private static func lines() -> AsyncStream<String> {
        AsyncStream { continuation in
            Thread.detachNewThread {
                while let line = readLine() { continuation.yield(line) }
                continuation.finish()
            }
        }
    }
}
