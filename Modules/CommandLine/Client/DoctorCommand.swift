import ArgumentParser
import SallyportAuthorization
import SallyportCore
import SallyportLoading
import SallyportReachability
import SallyportSecureStore
import SallyportURLLoading

/// Finds out why an app cannot reach its servers.
struct DoctorCommand: AsyncParsableCommand, CheckedArguments {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check everything from the store to a server, and say what is wrong and what to do.",
        discussion: """
            Opens the store read-only and changes nothing; works beside the app. Ends with 0 if nothing failed, \
            otherwise with the status of the first failure.
            """)
    @Argument(help: "Servers to reach, as https://HOST[:PORT], http://HOST[:PORT] or HOST:PORT.")
    var servers: [String] = []
    @OptionGroup var location: StoreLocationOptions
    @Option(help: ArgumentHelp("Certificates of authorities to trust besides the system's, PEM.", valueName: "file"))
    var ca: String?
    @Option(
        name: .customLong("max-time"), help: "Time limit of each step, in seconds. Default: 10.",
        transform: expecting(SecondsArgument.expected))
    var maxTime = SecondsArgument(count: 10)
    @OptionGroup var output: OutputOptions

    func check() throws {
        guard maxTime.count <= 60 else { throw ValidationError("--max-time is 1 to 60.") }
        _ = try parsedServers()
    }

    func run() async throws {
        let command = self
        // Both may wait, for the writer of a FIFO or for standard input, also after the task was cancelled.
        let trust = try ca.map { try ServerTrust.systemAnd(given: $0) } ?? .system
        let protector = Result(catching: location.keyProtector)
        try await withInterruption {
            let report = try await command.report(trusting: trust, protectedBy: protector)
            command.output.print(report, report.text)
            if let failure = report.failure { throw failure }
        }
    }

    /// - Parameter protector: a failure is a finding.
    private func report(
        trusting trust: ServerTrust, protectedBy protector: Result<any KeyProtector, CommandFailure>
    ) async throws -> DoctorReport {
        let servers = try parsedServers()
        let store: SecureStore
        do {
            store = try await location.openApp(.readOnly, protectedBy: protector.get())
        } catch {
            guard let failure = CommandFailure(error) else { throw error }
            return DoctorReport(cannotOpen: failure)
        }
        defer { store.close() }
        let stored: StoredAuthorization
        do {
            stored = try StoredAuthorization.read(from: store)
        } catch {
            return DoctorReport(cannotOpen: CommandFailure(error))
        }
        let doctor = Doctor(stored, trusting: trust, within: maxTime.duration)
        return DoctorReport([.ok(.store, "The store at \(location.store) opens.")] + (await doctor.examine(servers)))
    }

    private func parsedServers() throws -> [Doctor.Server] {
        try servers.enumerated().map { try Self.server($1, "Server \($0 + 1)") }
    }

    /// A URL's server, or `HOST:PORT`, which is plain TCP.
    ///
    /// - Parameter name: of the argument, for an error, which does not repeat the text: a URL may hold a secret.
    static func server(_ text: String, _ name: String) throws -> Doctor.Server {
        do throws(AddressError) {
            guard text.contains("://") else { return Doctor.Server(try Endpoint(text), isSecure: false) }
            let url = try RequestURL(text)
            guard let endpoint = url.endpoint else {
                throw AddressError(.invalidURL, "The scheme is neither http nor https.")
            }
            return Doctor.Server(endpoint, isSecure: url.isSecure)
        } catch {
            throw ValidationError("\(name) is not valid: \(error.message)")
        }
    }
}
