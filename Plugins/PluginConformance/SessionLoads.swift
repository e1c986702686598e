internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading
internal import SallyportURLLoading
internal import Synchronization

/// Loads a sample through a real session, its buffer between handler and reader.
struct SessionLoads {
    let sample: SampleRequest
    let plain: Recorder.Snapshot
    let trials: Trials

    func check() async {
        let loading = URLLoadingSystem(gate: OpenGate())
        var configuration = SessionConfiguration()
        configuration.handlers = [Watched(subject: trials.subject)]
        configuration.resourceTimeout = trials.patience * 2
        let session = loading.makeSession(configuration)
        await compare("A session") { try await session.data(for: sample.request, upTo: .mebibytes(16)).body }
        await compare("A session that is read slowly") {
            var bytes: [UInt8] = []
            for try await chunk in try await session.bytes(for: sample.request).body {
                try await Task.sleep(for: .milliseconds(1))
                bytes += chunk
            }
            return bytes
        }
        await leaveEarly(session)
        await loading.shutdown()
    }

    private func compare(_ who: String, _ load: () async throws -> [UInt8]) async {
        await trials.ledger.countLoad()
        do {
            guard try await load() != plain.bytes else { return }
            trials.ledger.add(.sameAnswer, sample.name, "\(who) gets another body.")
        } catch {
            let code = (error as? LoadError).map { "\($0.code)" } ?? "\(type(of: error))"
            trials.ledger.add(.sameAnswer, sample.name, "\(who) fails with \(code).")
        }
    }

    private func leaveEarly(_ session: SecureSession) async {
        await trials.ledger.countLoad()
        let running = Running()
        await Running.$current.withValue(running) {
            guard let response = try? await session.bytes(for: sample.request) else { return }
            _ = try? await response.body.next()
            response.body.discard()
        }
        guard await !trials.waits(for: { running.count == 0 }) else { return }
        trials.ledger.add(
            .endsWhenCancelled, sample.name, "The handler runs on \(trials.patience) after its reader has left.")
    }
}

/// The number of a load's running handlers.
private final class Running: Sendable {
    @TaskLocal static var current: Running?
    private let number = Atomic(0)
    var count: Int { number.load(ordering: .relaxed) }
    func add(_ change: Int) { number.add(change, ordering: .relaxed) }
}

/// The handler under test, which reports when it runs.
private struct Watched: RequestHandler {
    let subject: Subject

    func canHandle(_ request: LoadRequest) -> Bool { subject.canHandle(request) }
    func canonicalForm(of request: LoadRequest) -> LoadRequest { subject.canonicalForm(request) }

    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        Running.current?.add(1)
        defer { Running.current?.add(-1) }
        try await subject.make().load(request, response)
    }
}

/// Allows everything, by direct routes.
private struct OpenGate: AccessGate {
    func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess {
        ServerAccess(decision: RoutingTable(default: .direct).decide(endpoint), relay: nil)
    }
    func checkAuthorized() throws(AccessDenied) {}
    func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation {
        AccessObservation()
    }
}
