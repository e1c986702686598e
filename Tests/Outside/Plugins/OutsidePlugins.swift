import HTTPTypes
import OutsideChecks
import OutsidePlugin
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportURLLoading

/// Sessions with two plugins of an app's own, and no authorization: the gate lets through one server, which the one plugin
/// speaks HTTP with over a stream of bytes; the other needs no host.
///
///     OutsidePlugins SOCKET WEB
@main
struct OutsidePlugins {
    private static let usage = "OutsidePlugins SOCKET WEB"

    private enum Given: DaemonPlace {
        static var socket: String { argument(1, OutsidePlugins.usage) }
    }

    private enum Nobody: DaemonPlace {
        static var socket: String { "\(Given.socket).nobody" }
    }

    private struct OneServer: AccessGate {
        let server: Endpoint

        func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess {
            let decision = RoutingTable(servers: [.init(server, route: .direct)], default: .deny).decide(endpoint)
            guard decision.route == .direct else { throw AccessDenied(.denied(decision)) }
            return ServerAccess(decision: decision, relay: nil)
        }
        func checkAuthorized() throws(AccessDenied) {}
        func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation {
            AccessObservation()
        }
    }

    static func main() async throws {
        let server = try Endpoint(argument(2, usage))
        let loading = URLLoadingSystem(gate: OneServer(server: server))
        loading.protocols.register(DaemonHandler<Given>.self)
        for number in 1...2 {
            let answer = try await loading.session.bytes(for: .get("daemon:/version"))
            let body = try await answer.body.collect(upTo: .kibibytes(1))
            show("the daemon answers: \(String(decoding: body, as: UTF8.self))", answer.head.status == .ok)
            show("the connection is kept", answer.facts.hops.first?.connection.isReused == (number == 2))
        }
        var configuration = SessionConfiguration()
        configuration.protocolClasses = [DaemonHandler<Nobody>.self]
        await fails("daemon:/version", with: .cannotConnect, in: loading.makeSession(configuration))

        configuration.handlers = [InsideHandler(server)]
        let answer = try await loading.makeSession(configuration).data(for: .get("inside:/version"))
        show("a server at a stream's end answers", answer.head.status == .ok && !answer.body.isEmpty)
        configuration.handlers = [InsideHandler(try Endpoint("a.example:80"))]
        await fails("inside:/version", with: .refusedByPolicy, in: loading.makeSession(configuration))
        await fails("http://a.example/", with: .refusedByPolicy, in: loading.session)
        await loading.shutdown()
    }

    private static func fails(_ url: String, with code: LoadError.Code, in session: SecureSession) async {
        do {
            _ = try await session.data(for: .get(url))
            show("\(url) fails with \(code)", false)
        } catch {
            show("\(url) fails with \(code)", error.code == code)
        }
    }
}
