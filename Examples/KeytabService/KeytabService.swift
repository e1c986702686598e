// A service that calls a web API with Kerberos, using a keytab instead of a password. The administrator of the realm
// creates it once:
//
//     kadmin -q "addprinc -randkey report/host.corp.example"
//     kadmin -q "ktadd -k /etc/report.keytab report/host.corp.example"
//
// The app is activated as any other (see Quickstart), then runs with
//
//     swift run KeytabService /var/lib/report /etc/report.keytab https://api.corp.example/figures
import Glibc
import Logging
import Sallyport
import ServiceLifecycle
import UnixSignals

#if Kerberos
/// Asks the API until it is told to end.
struct Report: Service {
    let sallyport: Sallyport
    let url: String
    /// How often, and how long between two times.
    let times = 3
    let pause = Duration.milliseconds(200)

    func run() async throws {
        for _ in 1...times {
            do {
                // The API challenges the first request; later requests contain a token from the start, a new one each.
                let answer = try await sallyport.session.data(for: .get(url), upTo: .mebibytes(4))
                print("\(answer.head.status.code): \(answer.body.count) bytes")
            } catch {
                // With `kerberosFailed`, the error beneath says why there is no ticket.
                print("not loaded: \(error) \(error.underlying as? KerberosError, default: "")")
            }
            try await gracefulShutdownSleep(for: pause)
        }
    }

    private func gracefulShutdownSleep(for pause: Duration) async throws {
        await cancelWhenGracefulShutdown { try? await Task.sleep(for: pause) }
    }
}

@main enum KeytabService {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4 else {
            print("usage: KeytabService STORE KEYTAB URL")
            exit(64)
        }

        let sallyport = try await Sallyport.open(store: arguments[1], protectedBy: .keyFile("\(arguments[1])/key"))
        try await sallyport.authorize()
        // From here on, servers that accept tickets are answered as this user. Tickets are stored and survive restarts.
        let user = try await sallyport.kerberos.useKeytab(at: arguments[2])
        print("as \(user)")

        let group = ServiceGroup(
            configuration: .init(
                services: [
                    .init(service: sallyport),
                    .init(
                        service: Report(sallyport: sallyport, url: arguments[3]),
                        successTerminationBehavior: .gracefullyShutdownGroup),
                ],
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: Logger(label: "report")))
        try await group.run()
    }
}
#else
@main enum KeytabService {
    static func main() {
        print("This example wants the package trait Kerberos.")
        exit(69)
    }
}
#endif
