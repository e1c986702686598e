import OutsideChecks
import SallyportAuthorization
import SallyportConnecting
import SallyportCore
import SallyportReachability
import SallyportSecureStore

/// Is the gateway within reach, and what is in the way of a server: no URL loading in the program.
///
///     OutsideReachability DIRECTORY LINK HOST:PORT
@main
struct OutsideReachability {
    private static let usage = "OutsideReachability DIRECTORY LINK HOST:PORT"

    static func main() async throws {
        let (directory, link) = (argument(1, usage), argument(2, usage))
        let server = try Endpoint(argument(3, usage))
        let store = try await SecureStore.open(at: "\(directory)/store", protectedBy: .keyFile("\(directory)/key"))
        let authorization = try Authorization.open(store: store)
        let connector = Connector(gate: authorization, decisions: authorization)
        let reachability = Reachability(authorization, retiring: connector)
        let diagnostics = Diagnostics(authorization, through: connector, reachability: reachability)
        let parts = InstanceParts(of: authorization, [reachability, connector])
        try await authorization.activate(link: link)

        async let running: Void = authorization.run()
        async let looking: Void = reachability.run()
        for await state in reachability.changes() where state.status.isReachable && state.isPushChannelAvailable {
            show("the gateway is within reach: \(state)", true)
            break
        }
        let found = try await diagnostics.reach("\(server.host)", port: server.port, isSecure: false)
        show("the server is reached through the relay", found.code == .noError)
        let other = try await diagnostics.reach("other.example", port: 443)
        show("another one is not: \(other.code)", other.decision?.route == .deny)

        await parts.shutdown()
        _ = await (running, looking)
        store.close()
    }
}
