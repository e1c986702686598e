public import SallyportBase
public import SallyportLoading
public import SallyportURLLoading

/// Tries a protocol handler as a session would, and as the worst caller would.
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
/// Each sample is loaded as it is; cancelled before the start, after the head, after each chunk and at the end; read
/// slowly; with its body, where it has one, sent slowly; and loaded through a session, whole, slowly and left early. A
/// sample whose source holds back is watched while it does, and cancelled meanwhile. At last it is looked for what the
/// loads left behind. ``Rule`` lists what is checked.
///
/// The handler is called as the session calls it, with the canonical form of a request, in a task of its own. The
/// descriptors that are counted are those of the process: tests that open many at once beside this one disturb it.
public struct PluginConformance: Sendable {
    /// The longest answer to a sample, in bytes.
    public static let longestAnswer = 16 << 20
    /// Of a longer answer, this many points are cancelled at, spread over it.
    public static let cancellationPoints = 64

    /// How long the handler has to react, at each point. A handler that is slower is given up, and said so.
    public var patience: Duration = .seconds(5)
    /// The longest chunk that the handler writes: what it holds in memory for one load.
    public var largestChunk: ByteCount = .megabytes(1)
    /// What stands in for the session's own way for `http` and `https`, for handlers that use it.
    public var http = LoadChain([])

    let subject: Subject
    let samples: [SampleRequest]

    public init(_ handler: any ProtocolHandler.Type, samples: [SampleRequest]) {
        subject = Subject(handler)
        self.samples = samples
    }

    /// Tries a handler that an app makes itself.
    ///
    /// - Parameter make: gives the handler of each load: a new one where it answers a request only once, else the same.
    public init(samples: [SampleRequest], _ make: @escaping @Sendable () -> any RequestHandler) {
        subject = Subject(make)
        self.samples = samples
    }

    /// Runs all checks, one after the other. Takes at most a few times ``patience`` for each point that fails.
    public func run() async -> ConformanceReport {
        let ledger = Ledger()
        let limits = Recorder.Limits(chunk: largestChunk.octets, answer: Self.longestAnswer)
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
