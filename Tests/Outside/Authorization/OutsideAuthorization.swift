import OutsideChecks
import SallyportAuthorization
import SallyportSecureStore

/// The authorization alone: an app that is let in by a link, hears of what changes, and has data that is open only while it
/// is authorized. It links no sessions, no sockets and no cache.
///
///     OutsideAuthorization DIRECTORY LINK
@main
struct OutsideAuthorization {
    private static let usage = "OutsideAuthorization DIRECTORY LINK"

    static func main() async throws {
        let (directory, link) = (argument(1, usage), argument(2, usage))
        let store = try await SecureStore.open(at: "\(directory)/store", protectedBy: .keyFile("\(directory)/key"))
        let authorization = try Authorization.open(store: store)
        let data = GatedStore(store, gate: authorization)
        show("nothing is open before the activation", (try? data.read { _ in true }) == nil)

        let events = authorization.events
        let activation = try await authorization.activate(link: link)
        show("the link activates: \(activation.user)", authorization.state == .authorized)
        for await event in events where event.kind == .authorized {
            show("the app hears of it: \(event)", true)
            break
        }
        show("its data is open now", try data.read { _ in true })
        show("the policy says how servers are reached", try authorization.explain("https://a.example").route == "deny")

        async let running: Void = authorization.run()
        try await authorization.authorize()
        show("a program that runs on is authorized again", authorization.state == .authorized)

        await authorization.close()
        await running
        store.close()
    }
}
