internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
public import SallyportLoading
public import SallyportURLLoading

/// Records real exchanges to a file, and replays them in tests: strictly, and without any network.
///
/// ```swift
/// let cassette = try await Cassette.open("Fixtures/report.json", mode: .recordIfMissing)
/// configuration.handlers = [cassette]
/// …
/// try await cassette.save()
/// #expect(await cassette.unusedExchanges.isEmpty)
/// ```
///
/// Takes every `http` and `https` request of its sessions. When **recording**, a request is sent as usual, relayed or
/// direct according to the policy, and the exchange is kept once its answer was read completely; redirects are followed
/// before, so the answer is the last one. Nothing is written before ``save()``. When **replaying**, a request is
/// answered by the next recording of the same request, which is then used up; a request without a recording fails, even
/// if the network could answer it. Requests are the same if method, URL, ``CassetteSettings/matchedFields`` and the
/// SHA-256 of the body are equal.
///
/// Credentials are never recorded: see ``CassetteSettings``. So a replay sets no cookies and requires no credentials.
///
/// Errors of loads are `LoadError`; those of the cassette have the code `handlerFailed` and a ``CassetteError`` as the
/// underlying error. May be used from anywhere, by several sessions at once.
public actor Cassette: RequestHandler {
    /// Whether loads reach the network.
    public enum Mode: Sendable, Hashable {
        /// Every load reaches the network, and is recorded.
        case record
        /// No load reaches the network: the file answers.
        case replay
        /// Replays the file if it exists, otherwise records it.
        case recordIfMissing
    }

    private enum State {
        /// Exchanges in the order in which they began; `underway` are those that have not ended yet.
        case recording(began: Int, underway: Int, kept: [Int: RecordedExchange])
        case replaying(ReplayTape)
    }

    private var state: State
    private nonisolated let path: String?
    private nonisolated let redaction: Redaction
    /// Whether it records instead of replaying.
    public nonisolated let isRecording: Bool

    private nonisolated var settings: CassetteSettings { redaction.settings }

    private init(_ state: State, path: String?, isRecording: Bool, _ settings: CassetteSettings) {
        self.state = state
        self.path = path
        self.isRecording = isRecording
        redaction = Redaction(settings: settings)
    }

    /// Replays a recording that was read before.
    public init(replaying recording: Recording, settings: CassetteSettings = CassetteSettings()) {
        self.init(.replaying(ReplayTape(recording.exchanges)), path: nil, isRecording: false, settings)
    }

    /// - Throws: `CassetteError`: `unreadable` if there is no file to replay, and the errors of
    ///   `Recording.init(file:settings:)`.
    public static func open(
        _ path: String, mode: Mode, settings: CassetteSettings = CassetteSettings()
    ) async throws(CassetteError) -> Cassette {
        if mode == .record || (mode == .recordIfMissing && !CassetteFile.exists(path)) {
            return Cassette(.recording(began: 0, underway: 0, kept: [:]), path: path, isRecording: true, settings)
        }
        let recording = try Recording(file: await CassetteFile.read(path, settings.fileLimit), settings: settings)
        return Cassette(.replaying(ReplayTape(recording.exchanges)), path: path, isRecording: false, settings)
    }

    /// Recordings that were not replayed, in their order: empty if the test has made all recorded requests. Always
    /// empty while recording.
    public var unusedExchanges: [RecordedExchange] {
        if case .replaying(let tape) = state { tape.unused } else { [] }
    }

    /// The exchanges recorded so far; empty while replaying.
    public var recording: Recording {
        guard case .recording(_, _, let kept) = state else { return Recording() }
        return Recording(kept.sorted { $0.key < $1.key }.map(\.value))
    }

    /// Writes the file, completely or not at all: an existing file is replaced in one step. Does nothing while
    /// replaying. Loads that have not ended are not included.
    ///
    /// - Throws: `CassetteError`: `unwritable`; `tooLarge` for a file longer than its limit.
    public func save() async throws(CassetteError) {
        guard isRecording, let path else { return }
        try await CassetteFile.write(recording.file(), to: path, settings.fileLimit)
    }
}

// MARK: Loading

extension Cassette {
    /// Whether the URL is one of `http` or `https`.
    public nonisolated func canHandle(_ request: LoadRequest) -> Bool { request.url.endpoint != nil }

    /// Records the load, or answers it from the file. The request's body is read first, up to
    /// ``CassetteSettings/bodyLimit``.
    ///
    /// - Throws: `LoadError`: while recording, that of the load itself; `handlerFailed` with a ``CassetteError`` as the
    ///   underlying error if the cassette is the cause, such as `notRecorded`, or `tooLarge` for a body above the
    ///   limit.
    public nonisolated func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        var body: [UInt8]?
        if let given = request.body { body = try await collect(given) }
        if isRecording {
            try await record(request, body, response)
        } else {
            try await play(request, body, response)
        }
    }

    private nonisolated func collect(_ body: RequestBody) async throws(LoadError) -> [UInt8] {
        let limit = settings.bodyLimit
        var bytes: [UInt8] = []
        try await body.read { (chunk) throws(LoadError) in
            guard bytes.count + chunk.count <= limit.bytes else { throw CassetteError.tooLong(limit).loadError }
            bytes += chunk
        }
        return bytes
    }

    private nonisolated func play(_ request: LoadRequest, _ body: [UInt8]?, _ response: ResponseWriter) async throws {
        let recorded = redaction.request(request, body: body)
        let answer = try await take(recorded).response
        let isBodyless = request.method == .head || answer.status == 204 || answer.status == 304
        let head = try loadError { () throws(CassetteError) in try answer.head(isBodyless: isBodyless) }
        try response.begin(head, from: try answer.url.map { try RequestURL($0) } ?? request.url)
        guard !isBodyless else { return }
        for start in stride(from: 0, to: answer.body.bytes.count, by: Self.chunkSize) {
            try await response.write(Array(answer.body.bytes[start...].prefix(Self.chunkSize)))
        }
    }

    private static var chunkSize: Int { 64 << 10 }

    private func take(_ request: RecordedRequest) throws(LoadError) -> RecordedExchange {
        try loadError { () throws(CassetteError) in
            guard case .replaying(var tape) = state else { throw CassetteError(.notRecorded, "The cassette records.") }
            let exchange = try tape.take(request)
            state = .replaying(tape)
            return exchange
        }
    }

    private nonisolated func record(_ request: LoadRequest, _ body: [UInt8]?, _ response: ResponseWriter) async throws {
        let place = try await begin()
        do {
            let recorded = try await exchange(request, body, response)
            await ended(place, with: recorded)
        } catch {
            await ended(place, with: nil)
            throw error
        }
    }

    private nonisolated func exchange(
        _ request: LoadRequest, _ body: [UInt8]?, _ response: ResponseWriter
    ) async throws -> RecordedExchange {
        var request = request
        if let body { request.body = .bytes(body) }
        var answer = try await response.loadHTTP(request)
        let copy = CopiedBody(answer.body, limit: settings.bodyLimit)
        answer.body = ResponseBody(copy)
        try await response.forward(answer)
        return RecordedExchange(
            request: redaction.request(request, body: body),
            response: redaction.answer(answer, to: request, body: await copy.bytes))
    }

    /// - Parameter exchange: nil if the load failed, which leaves its room to others.
    private func ended(_ place: Int, with exchange: RecordedExchange?) {
        guard case .recording(let began, let underway, var kept) = state else { return }
        kept[place] = exchange
        state = .recording(began: began, underway: underway - 1, kept: kept)
    }

    /// The place of an exchange that begins.
    private func begin() throws(LoadError) -> Int {
        guard case .recording(let began, let underway, let kept) = state,
            kept.count + underway < settings.exchangeLimit
        else {
            throw CassetteError(
                .tooManyExchanges, "More than \(settings.exchangeLimit) exchanges are not recorded."
            ).loadError
        }
        state = .recording(began: began + 1, underway: underway + 1, kept: kept)
        return began
    }

    private nonisolated func loadError<Value>(_ body: () throws(CassetteError) -> Value) throws(LoadError) -> Value {
        do throws(CassetteError) {
            return try body()
        } catch {
            throw error.loadError
        }
    }
}

/// Copies the bytes that pass through.
private actor CopiedBody: BodySource {
    private nonisolated let source: ResponseBody
    private let limit: ByteCount
    private(set) var bytes: [UInt8] = []

    init(_ source: ResponseBody, limit: ByteCount) {
        self.source = source
        self.limit = limit
    }

    func next() async throws(LoadError) -> [UInt8]? {
        guard let chunk = try await source.next() else { return nil }
        bytes += chunk
        guard bytes.count <= limit.bytes else {
            source.discard()
            throw CassetteError.tooLong(limit).loadError
        }
        return chunk
    }

    nonisolated func discard() { source.discard() }

    nonisolated var trailers: HTTPFields? { source.trailers }
}
