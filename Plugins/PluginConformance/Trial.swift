internal import HTTPTypes
internal import Logging
internal import SallyportCore
internal import SallyportLoading
internal import SallyportURLLoading

/// Runs one load of a handler after another, each with a ``Recorder``.
///
/// Each runs in its own task, so that a load that does not end when it is cancelled can be given up.
struct Trials: Sendable {
    let subject: Subject
    let patience: Duration
    let limits: Recorder.Limits
    let http: LoadChain
    let ledger: Ledger

    /// Starts a load.
    ///
    /// - Parameter cancelAfter: the event after which the load is cancelled; 0 means before its start.
    func start(
        _ sample: SampleRequest, _ request: LoadRequest? = nil, pace: Recorder.Pace = .eager, cancelAfter: Int? = nil
    ) async -> Recorder {
        let recorder = Recorder(
            sample.name, pace: pace, cancelAfter: cancelAfter, limits: limits, http: http, ledger: ledger)
        let request = subject.canonicalForm(request ?? sample.request)
        let context = LoadContext(
            requestID: 0, logger: Logger(label: "sallyport.conformance"), deadline: .now + patience * 2,
            idleTimeout: patience * 2, principal: .instance)
        let (gate, opener) = AsyncStream<Void>.makeStream()
        let task = Task { [subject, ledger] in
            for await _ in gate {}
            let ending = await Self.perform(subject, request, sample.name, recorder, context, ledger)
            recorder.ended(ending)
        }
        await ledger.countLoad()
        await ledger.expectRelease(of: recorder, "The writer", sample.name)
        recorder.prepare(cancel: { task.cancel() })
        if cancelAfter == 0 { recorder.cancel() }
        opener.finish()
        return recorder
    }

    private static func perform(
        _ subject: Subject, _ request: LoadRequest, _ sample: String, _ recorder: Recorder,
        _ context: LoadContext, _ ledger: Ledger
    ) async -> Ending {
        let instance = subject.make()
        if let object = instance.object { await ledger.expectRelease(of: object, "The handler", sample) }
        do {
            try await instance.load(request, ResponseWriter(recorder, url: request.url, context: context))
            return .whole
        } catch {
            return Ending(error)
        }
    }

    /// Waits for the end of a load; gives it up, and reports that, if it does not end.
    ///
    /// - Returns: the result; nil if it did not end.
    func end(of recorder: Recorder, _ sample: SampleRequest) async -> Recorder.Snapshot? {
        if await waits(for: { recorder.seen.ending != nil }) { return recorder.seen }
        let rule: Rule = recorder.seen.isCancelled ? .endsWhenCancelled : .ends
        ledger.add(rule, sample.name, "The handler did not return within \(patience).")
        recorder.cancel()
        return nil
    }

    /// Whether a condition becomes true in time, and before the run is cancelled.
    func waits(for isTrue: () async -> Bool) async -> Bool {
        let end = ContinuousClock.now + patience
        var turns = 0
        while await !isTrue() {
            guard ContinuousClock.now < end, !Task.isCancelled else { return false }
            turns += 1
            if turns < 50 { await Task.yield() } else { try? await Task.sleep(for: .milliseconds(1)) }
        }
        return true
    }
}
