import SallyportURLLoading
import SessionTestSupport
import TestSupport

@testable import SallyportHTTPAuthentication

/// An app in a world whose sessions answer challenges.
struct AuthenticatingApp {
    let world: World
    let credentials = CredentialStorage()
    let loading: URLLoadingSystem

    init(schemes: [any AuthenticationScheme]? = nil) throws {
        world = try World()
        let stage =
            schemes.map { [credentials] in AuthenticationStage(credentials: credentials, schemes: $0) }
            ?? AuthenticationStage(credentials: credentials)
        loading = world.loading { _ in [stage] }
    }
}
