import Foundation
import OutsideChecks
import SallyportCore
import SallyportGateway
import SallyportSecureStore

/// A gateway in this process, from its data folder to its end: a user is let in, and the link printed.
@main
struct OutsideGateway {
    private static let (user, entitlement, version) = ("ann@corp.example", "com.example.report", "1.0.0.0")

    static func main() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (data, key) = (folder.appending(path: "gateway").path(), folder.appending(path: "gateway.key").path())
        try await Gateway.create(at: data, name: "localhost", protectedBy: .keyFile(key))

        let gateway = try await Gateway(at: data, protectedBy: .keyFile(key), configuration: .loopback)
        async let running: Void = gateway.run()
        let listeners = try await gateway.listeners()
        print("listens: control \(listeners.controlPort), relay \(listeners.relayPort)")

        try await letIn(through: gateway)
        print("link: \(try await gateway.invite(user, to: entitlement))")
        show("no app has activated yet", try await gateway.instances().isEmpty)

        await gateway.shutdown()
        try await running
        try await expectClosed(gateway)
    }

    /// An application, its server, and a user with the right to activate it.
    private static func letIn(through gateway: Gateway) async throws {
        try await gateway.addApplication(entitlement, version: version)
        try await gateway.addServer(Endpoint("reports.corp.example:443"), of: entitlement)
        try await gateway.setRoute(of: "corp.example", to: .relay)
        try await gateway.setRoute(of: "169.254.0.0/16", to: .deny)
        try await gateway.addUser(user)
        try await gateway.entitle(user, to: entitlement, version: version)
    }

    /// Errors have codes that are public.
    private static func expectClosed(_ gateway: Gateway) async throws {
        do throws(GatewayError) {
            _ = try await gateway.declaration()
            show("a gateway that was shut down answers no call", false)
        } catch {
            show("a gateway that was shut down answers no call", error.code == .ended)
        }
    }
}
