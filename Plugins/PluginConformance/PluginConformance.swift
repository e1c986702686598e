public import SallyportBase
public import SallyportLoading
public import SallyportURLLoading

/// Tests a protocol handler as a session would call it, and as the most difficult caller would.
///
/// ```swift
/// @Test func theHandlerConforms() async throws {
///     let report = await PluginConformance(
///         DataURLHandler.self,
///         samples: [
///             .answers("text", try .get("data:,hello"), body: Array("hello".utf8)),
///             .fails("malformed", try .get("data:hello"), with: .invalidRequest),
///         ]
///     ).run()
///     #expect(report.violations.isEmpty, "\(report)")
/// }
/// ```
///
/// Each sample is loaded normally; cancelled before the start, after the head, after each chunk and at the end; read
/// slowly; with its body, if it has one, sent slowly; and loaded through a session: whole, slowly, and discarded early.
/// A sample with a source that pauses is observed during the pause, and cancelled then. At the end, leaks are looked
/// for. ``Rule`` lists the checks.
///
/// The handler is called as a session calls it, with the canonical form of a request, in its own task. The descriptors
/// of the whole process are counted: tests that run at the same time and open many descriptors affect the result.
public struct PluginConformance: Sendable {
    /// The longest answer to a sample, in bytes.
    public static let longestAnswer = 16 << 20
    /// The most points at which a load is cancelled; for a longer answer they are spread over it.
    public static let cancellationPoints = 64

    /// How long the handler may take to react, at each point. A slower handler is given up, which is reported.
    public var patience: Duration = .seconds(5)
    /// The longest chunk that the handler may write, and so how much it holds in memory for one load.
    public var largestChunk: ByteCount = .mebibytes(1)
    /// Replaces the session's own handling of `http` and `https`, for handlers that use it.
    public var http = LoadChain([])

    let subject: Subject
    let samples: [SampleRequest]

    /// Tests a handler type, of which each load makes an instance.
    ///
    /// - Parameters:
    ///   - handler: the type.
    ///   - samples: the requests to load; give one of each kind.
    public init(_ handler: any ProtocolHandler.Type, samples: [SampleRequest]) {
        subject = Subject(handler)
        self.samples = samples
    }

    /// Tests a handler object that an app creates itself.
    ///
    /// - Parameters:
    ///   - samples: the requests to load; give one of each kind.
    ///   - make: returns the handler of each load: a new one if it answers a request only once, otherwise the same.
    public init(samples: [SampleRequest], _ make: @escaping @Sendable () -> any RequestHandler) {
        subject = Subject(make)
        self.samples = samples
    }

    /// Runs all checks, one after the other. Takes at most a few times ``patience`` for each failing point.
    ///
    /// Cancelling the task ends it soon, with a report that means nothing.
    public func run() async -> ConformanceReport {
        let ledger = Ledger()
        let limits = Recorder.Limits(chunk: largestChunk.bytes, answer: Self.longestAnswer)
        let trials = Trials(subject: subject, patience: patience, limits: limits, http: http, ledger: ledger)
        for sample in samples where CanonicalForm(subject, sample, ledger).isSound() {
            if let hold = sample.hold {
                await SlowSource(sample: sample, hold: hold, trials: trials).check()
            } else {
                await check(sample, trials)
            }
        }
        await noteWhatIsMissing(ledger)
        await Leaks(trials: trials).check(samples.first { $0.hold == nil })
        return await ledger.close()
    }

    private func check(_ sample: SampleRequest, _ trials: Trials) async {
        let recorder = await trials.start(sample)
        guard let plain = await trials.end(of: recorder, sample) else { return }
        Answer(sample: sample, seen: plain, ledger: trials.ledger).check()
        await Cancellation(sample: sample, plain: plain, trials: trials).check()
        guard case .whole = plain.ending, plain.head != nil else { return }
        await SlowReader(sample: sample, plain: plain, trials: trials).check()
        await SlowUpload(sample: sample, plain: plain, trials: trials).check()
        await SessionLoads(sample: sample, plain: plain, trials: trials).check()
    }

    private func noteWhatIsMissing(_ ledger: Ledger) async {
        if !samples.contains(where: { $0.hold != nil }) { await ledger.leaveOut("slow source: no sample holds back") }
        if !samples.contains(where: { $0.request.body?.length != nil }) {
            await ledger.leaveOut("slow request body: no sample has a body in memory")
        }
    }
}
