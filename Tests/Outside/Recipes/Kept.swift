import Sallyport

// recipe: cookies
func lookAfterCookies(of sallyport: Sallyport) async throws {
    let url = try RequestURL("https://reports.corp.example/")
    for cookie in try await sallyport.cookies.list(for: url) {
        print(cookie.name, cookie.expires == nil ? "until the app ends" : "kept")
    }
    try await sallyport.cookies.removeAll(ofDomain: "corp.example")
}

func sessionWithOwnJar(of sallyport: Sallyport) -> SecureSession {
    var configuration = SessionConfiguration()
    configuration.cookieJar = .named("batch")  // or .none
    return sallyport.makeSession(configuration)
}
// end

// recipe: cache
func loadFresh(_ sallyport: Sallyport) async throws {
    sallyport.cache?.diskCapacity = 20 << 20
    var request = try LoadRequest.get("https://reports.corp.example/today")
    request.options.cachePolicy = .reloadRevalidatingCacheData
    let answer = try await sallyport.session.data(for: request)
    print(answer.facts.cache?.rawValue ?? "not asked", answer.body.count)
}
// end

// recipe: store
struct Profile: Codable, Sendable {
    var name: String
    var visits = 0
}

func countVisit(of user: String, in sallyport: Sallyport) async throws -> Int {
    let profiles = sallyport.store.collection("profiles", of: Profile.self)
    try await sallyport.store.write { transaction in  // durable when it returns, or nothing happened
        var profile = try transaction.value(for: user, in: profiles) ?? Profile(name: user)
        profile.visits += 1
        try transaction.set(profile, for: user, in: profiles)
    }
    return try sallyport.store.read { try $0.value(for: user, in: profiles)?.visits ?? 0 }
}
// end
