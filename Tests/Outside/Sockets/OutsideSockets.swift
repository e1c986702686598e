import OutsideChecks
import SallyportAuthorization
import SallyportCore
import SallyportLoading
import SallyportSecureStore
import SallyportSocket

/// Authorization and sockets: streams of bytes through the relay, and no URL loading in the program.
///
///     OutsideSockets DIRECTORY LINK HOST:PORT
@main
struct OutsideSockets {
    private static let usage = "OutsideSockets DIRECTORY LINK HOST:PORT"

    static func main() async throws {
        let (directory, link, echo) = (argument(1, usage), argument(2, usage), argument(3, usage))
        let store = try await SecureStore.open(at: "\(directory)/store", protectedBy: .keyFile("\(directory)/key"))
        let authorization = try Authorization.open(store: store)
        let sockets = SocketSystem(gate: authorization, decisions: authorization)
        let parts = InstanceParts(of: authorization, [sockets])
        try await authorization.activate(link: link)

        let answer = try await sockets.withConnection(to: echo, isSecure: false) { stream in
            show("the policy relays the server", stream.decision?.route == .relay)
            try await stream.write("hello")
            stream.closeWrite()
            var answer: [UInt8] = []
            for try await chunk in stream.bytes { answer += chunk }
            return String(decoding: answer, as: UTF8.self)
        }
        show("what was sent comes back", answer == "hello")

        do throws(LoadError) {
            try await sockets.connect(to: "other.example:443", isSecure: true).close()
            show("a server that is not listed is refused", false)
        } catch {
            show("a server that is not listed is refused", error.code == .refusedByPolicy)
        }
        await parts.shutdown()
        store.close()
    }
}
