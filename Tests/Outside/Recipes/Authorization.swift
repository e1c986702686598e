import Sallyport

// recipe: activate
/// Activates an app with an administrator's link. The store keeps who the app is: once is enough.
func activate(link: String) async throws {
    let sallyport = try await Sallyport.open(store: "/var/lib/report", protectedBy: .systemdCredential("sallyport"))
    let activation = try await sallyport.authorization.activate(link: link)
    print("\(activation.entitlement) for \(activation.user): \(activation.state)")
    await sallyport.shutdown()
}
// end

// recipe: authorize
func start() async throws -> Sallyport {
    let sallyport = try await Sallyport.open(
        store: "/var/lib/report", protectedBy: .systemdCredential("sallyport"),
        application: .init("com.example.report", version: "1.0.0.0"))
    do {
        try await sallyport.authorize()
    } catch let error as AuthorizationError where error.code == .withdrawn {
        // Blocked, locked, wiped, or the lease is over. Data is kept unless it says wiped or appDenied.
        print("not authorized: \(error.result)")
        throw error
    }
    return sallyport
}
// end

// recipe: events
func follow(_ sallyport: Sallyport) async {
    for await event in sallyport.authorization.events {
        switch event.kind {
        case .authorized: print("go on")
        case .notAuthorized where event.code == .wiped: print("data is gone: activate again")
        case .notAuthorized: print("stop: \(event.code), \(event.message)")
        case .remoteSettingsUpdate: print(sallyport.authorization.configuration.application?.config ?? "")
        case .policyUpdate: print(sallyport.authorization.configuration.policy ?? "")
        default: break
        }
    }
}
// end

// recipe: configuration
func describe(_ sallyport: Sallyport) throws {
    let configuration = sallyport.authorization.configuration
    print(configuration.application?.userID ?? "no configuration yet", configuration.epoch ?? 0)
    for server in configuration.application?.servers ?? [] {
        print(server.server, server.port, server.priority)
    }
    print(try sallyport.authorization.explain("https://reports.corp.example/today"))
}
// end

// recipe: blocks
func pause(_ authorization: Authorization) async throws {
    try await authorization.executeBlock(id: "audit", title: "Audit", message: "The audit is not finished.")
    print(authorization.localBlocks.map(\.id))  // the app decides what it does meanwhile: nothing is closed
    try await authorization.executeUnblock(id: "audit")
}
// end
