internal import SallyportCore
internal import SallyportWire

/// Asks the gateways of a fleet, one after the other, until one answers. Each is given a moment alone; then the next is
/// asked beside it, and the first answer counts. So neither a gateway that is slow nor one that hangs holds a request up.
struct GatewayRace: Sendable {
    /// How long a gateway may take before the next one is asked too, if the request has time for that.
    static let patience = Duration.seconds(1)

    let client: any ControlClient
    let clock: any AuthorizationClock
    let request: ControlRequest
    /// In the order in which they are asked.
    let gateways: [Endpoint]

    struct Outcome: Sendable {
        let result: Result<ControlAnswer, LoadError>
        var answered: Endpoint?
        /// Those that failed, or had not answered when another one had.
        var failed: [Endpoint] = []
    }

    private enum Event: Sendable {
        case ended(Int, Result<ControlAnswer, LoadError>)
        case patienceIsOver(Int)
    }

    func run() async -> Outcome {
        let start = ContinuousClock.now
        return await withTaskGroup(of: Event.self) { group in
            defer { group.cancelAll() }
            var course = Course(of: gateways)
            ask(course.next(), since: start, in: &group)
            while let event = await group.next() {
                switch event {
                case .patienceIsOver(let number):
                    if course.isLast(number) { ask(course.next(), since: start, in: &group) }
                case .ended(let number, let result):
                    if let outcome = course.ended(number, result) { return outcome }
                    ask(course.next(), since: start, in: &group)
                }
            }
            return Outcome(result: .failure(.cancelled()))
        }
    }

    /// - Parameter number: nil if there is no gateway left.
    private func ask(_ number: Int?, since start: ContinuousClock.Instant, in group: inout TaskGroup<Event>) {
        guard let number else { return }
        var request = request
        request.gateway = gateways[number]
        request.timeout = max(.milliseconds(500), request.timeout - start.duration(to: .now))
        group.addTask { [client, request] in
            do throws(LoadError) { return .ended(number, .success(try await client.send(request))) } catch {
                return .ended(number, .failure(error))
            }
        }
        guard number + 1 < gateways.count else { return }
        let patience = min(Self.patience, self.request.timeout / 3)
        group.addTask { [clock] in
            try? await clock.sleep(for: patience)
            return .patienceIsOver(number)
        }
    }
}

extension GatewayRace {
    /// How far a race has come. A value.
    struct Course: Sendable {
        private let gateways: [Endpoint]
        private var asked = 0
        private var pending: Set<Int> = []
        private var failed: [Endpoint] = []
        private var failure: Result<ControlAnswer, LoadError>?

        init(of gateways: [Endpoint]) { self.gateways = gateways }

        /// The number of the gateway to be asked next; nil if all were asked.
        mutating func next() -> Int? {
            guard asked < gateways.count else { return nil }
            pending.insert(asked)
            asked += 1
            return asked - 1
        }

        /// Whether no gateway was asked after this one.
        func isLast(_ number: Int) -> Bool { number == asked - 1 }

        /// - Returns: nil while there are gateways left.
        mutating func ended(_ number: Int, _ result: Result<ControlAnswer, LoadError>) -> Outcome? {
            pending.remove(number)
            if case .failure(let error) = result, error.code == .cancelled || error.isReset {
                return Outcome(result: result)
            }
            if case .success(let answer) = result, answer.status < 500 {
                return Outcome(
                    result: result, answered: gateways[number],
                    failed: failed + pending.filter { $0 < number }.sorted().map { gateways[$0] })
            }
            failed.append(gateways[number])
            // An answer tells more than that there was none.
            if case .success = result { failure = result } else { failure = failure ?? result }
            guard pending.isEmpty, asked == gateways.count, let failure else { return nil }
            return Outcome(result: failure, failed: failed)
        }
    }
}
