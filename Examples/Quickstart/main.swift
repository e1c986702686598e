// An app that fetches a page from behind the firewall. Activate it once:
//
//     sallyport activate --link-file link --store /var/lib/quickstart
//
// then run it with the URL of the page:
//
//     swift run Quickstart /var/lib/quickstart https://intranet.corp.example/
import Glibc
import Logging
import Sallyport
import ServiceLifecycle
import UnixSignals

/// The app's own work, beside the background work of its `Sallyport`.
struct Report: Service {
    let sallyport: Sallyport
    let url: String

    func run() async throws {
        do {
            let answer = try await sallyport.session.data(for: .get(url), upTo: .mebibytes(4))
            print("\(answer.head.status.code): \(answer.body.count) bytes")
        } catch {
            // The code says what failed, the step how far the load had come.
            print("not loaded: \(error)")
        }
    }
}

let arguments = CommandLine.arguments
guard arguments.count == 3 else {
    print("usage: Quickstart STORE URL")
    exit(64)
}

// The store's directory and its key were made at activation.
let sallyport = try await Sallyport.open(store: arguments[1], protectedBy: .keyFile("\(arguments[1])/key"))
try await sallyport.authorize()

// `Sallyport` is a service: it keeps the policy fresh, renews the certificate, and ends with the others.
let group = ServiceGroup(
    configuration: .init(
        services: [
            .init(service: sallyport),
            .init(
                service: Report(sallyport: sallyport, url: arguments[2]),
                successTerminationBehavior: .gracefullyShutdownGroup),
        ],
        gracefulShutdownSignals: [.sigterm, .sigint],
        logger: Logger(label: "quickstart")))
try await group.run()
