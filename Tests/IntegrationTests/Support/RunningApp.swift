import Sallyport
import TestSupport
import Testing

/// An app that runs beside its gateway, for the length of a test.
struct RunningApp {
    let site: Site
    let intranet: Intranet
    let sallyport: Sallyport
    let session: SecureSession

    /// - Parameter prepare: what the administrator does before the app is activated.
    static func run(
        preparing prepare: (Site) async throws -> Void = { _ in }, _ body: (RunningApp) async throws -> Void
    ) async throws {
        let intranet = try await Intranet.start()
        let site = try await Site.start(intranet)
        try await prepare(site)
        let sallyport = try await Sallyport.open(
            store: site.folder.file("app"), protectedBy: .keyFile(site.folder.file("app.key")),
            application: .init(Site.app, version: Site.version))
        try await sallyport.authorization.activate(link: site.link())
        try await sallyport.authorize()
        let running = Task { try? await sallyport.run() }
        var configuration = SessionConfiguration()
        configuration.trust = try .systemAnd(pemFile: intranet.authorityFile)
        let app = RunningApp(
            site: site, intranet: intranet, sallyport: sallyport, session: sallyport.makeSession(configuration))
        #expect(try await eventually { sallyport.reachability.isPushChannelAvailable })
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(app))
        } catch {
            result = .failure(error)
        }
        running.cancel()
        await sallyport.shutdown()
        await running.value
        try result.get()
    }

    /// Lists a server of a test's, relayed or direct.
    static func listing(_ server: TestServer, _ route: String) -> (Site) async throws -> Void {
        { site in try await site.admin("server", "add", "127.0.0.1:\(server.port)", "--route", route) }
    }
}
