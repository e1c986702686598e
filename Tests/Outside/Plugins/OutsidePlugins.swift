import HTTPTypes
import OutsideChecks
import OutsidePlugin
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportURLLoading

/// Sessions with a plugin of an app's own, and no authorization: the gate refuses all hosts, the plugin needs none.
///
///     OutsidePlugins SOCKET
@main
struct OutsidePlugins {
    private enum Given: DaemonPlace {
        static var socket: String { argument(1, "OutsidePlugins SOCKET") }
    }

    private enum Nobody: DaemonPlace {
        static var socket: String { "\(Given.socket).nobody" }
    }

    private struct NoHosts: AccessGate {
        func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess {
            throw AccessDenied(.denied(RoutingTable(default: .deny).decide(endpoint)))
        }
        func checkAuthorized() throws(AccessDenied) {}
        func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation {
            AccessObservation()
        }
    }

    static func main() async throws {
        let loading = URLLoadingSystem(gate: NoHosts())
        loading.protocols.register(DaemonHandler<Given>.self)
        for number in 1...2 {
            let answer = try await loading.session.bytes(for: .get("daemon:/version"))
            let body = try await answer.body.collect(upTo: .kilobytes(1))
            show("the daemon answers: \(String(decoding: body, as: UTF8.self))", answer.head.status == .ok)
            show("the connection is kept", answer.facts.hops.first?.connection.isReused == (number == 2))
        }
        var configuration = SessionConfiguration()
        configuration.protocolClasses = [DaemonHandler<Nobody>.self]
        await fails("daemon:/version", with: .cannotConnect, in: loading.makeSession(configuration))
        await fails("http://a.example/", with: .refusedByPolicy, in: loading.session)
        await loading.shutdown()
    }

    private static func fails(_ url: String, with code: LoadError.Code, in session: SecureSession) async {
        do {
            _ = try await session.data(for: .get(url))
            show("\(url) fails with \(code)", false)
        } catch {
            show("\(url) fails with \(code)", (error as? LoadError)?.code == code)
        }
    }
}
