import Crypto
import Glibc
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportURLLoading

/// One run of `fetch`: the URLs in order, in one session.
struct Fetch {
    private let command: FetchCommand
    private let session: SecureSession
    private let credential: Credential?
    private let input = BlockingCalls("sallyport.input")
    private let output = Workplace.current.writing
    private static let emptySum = Hexadecimal.text(SHA256().finalize())

    /// - Parameter credential: for servers that require authentication.
    init(_ command: FetchCommand, by credential: Credential?, in session: SecureSession) {
        self.command = command
        self.credential = credential
        self.session = session
    }

    /// - Throws: an error at the first URL that fails; earlier results have been printed.
    func run() async throws {
        var reports: [FetchReport] = []
        defer { tell(reports) }
        for var request in try await input.result(of: { [command] in try command.requests() }) {
            if credential != nil { request.options.credential = credential }
            request.options.isRecorded = true
            let loaded: (report: FetchReport, hasFailed: Bool)
            do {
                loaded = try await load(request)
            } catch let error as LoadError {
                // The command may have several URLs. Others than these have no server to name.
                let failure = CommandFailure(error)
                throw request.url.endpoint == nil ? failure : failure.about(request.url.redacted)
            }
            reports.append(loaded.report)
            guard !loaded.hasFailed else {
                throw CommandFailure(
                    .httpFailure, name: "httpStatus",
                    "\(loaded.report.url) answered with \(loaded.report.status).")
            }
        }
    }

    private func tell(_ reports: [FetchReport]) {
        guard command.output.json, !reports.isEmpty else { return }
        let text = command.urls.count == 1 ? JSONOutput.text(reports[0]) : JSONOutput.text(reports)
        StandardStreams.output(text)
    }

    /// - Returns: `hasFailed` if the answer ends the command: an error with `--fail`, or with `-C` instead of the rest.
    private func load(_ request: LoadRequest) async throws -> (report: FetchReport, hasFailed: Bool) {
        let start = ContinuousClock.now
        note("> \(request.method.rawValue) \(request.url.redacted)")
        if let file = command.file, try OutputFile.canBeReplaced(file) {
            return try await download(request, to: file, since: start)
        }
        let response = try await session.bytes(for: request)
        tellHead(of: response)
        guard isWanted(response.head) else {
            response.body.discard()
            let report = FetchReport(
                response, bytes: 0, sha256: Self.emptySum, file: nil, duration: start.duration(to: .now))
            return (report, true)
        }
        let (count, sum) = try await copy(response.body)
        let report = FetchReport(
            response, bytes: count, sha256: sum, file: command.file, duration: start.duration(to: .now))
        return (report, false)
    }

    /// With `--fail`, the body of an error is not written.
    private func isWanted(_ head: HTTPResponse) -> Bool { !command.fail || head.status.code < 400 }

    private func copy(_ body: ResponseBody) async throws -> (Int64, String) {
        let path: String? = command.output.json && command.file == nil ? nil : command.file ?? "-"
        let file = try await output.result { try OutputFile(path) }
        var hash = SHA256()
        var count: Int64 = 0
        while let chunk = try await body.next() {
            hash.update(data: chunk)
            count += Int64(chunk.count)
            do {
                try await output.result { try file.write(chunk) }
            } catch {
                body.discard()
                throw error
            }
        }
        return (count, Hexadecimal.text(hash.finalize()))
    }

    private func download(
        _ request: LoadRequest, to file: String, since start: ContinuousClock.Instant
    ) async throws -> (report: FetchReport, hasFailed: Bool) {
        let shows = StandardStreams.errorIsTerminal && !command.output.json && !command.verbose
        var bar = ProgressBar()
        var count: Int64 = 0
        defer { bar.end() }
        let tell = { (progress: TransferProgress) in
            count = progress.completed
            if shows { bar.show(progress) }
        }
        let place = try Workplace.current.path(file)
        let umask = Workplace.current.umask
        let result =
            command.goesOn
            ? try await session.resumedResult(
                for: request, to: place, keeping: isWanted, umask: umask, progress: tell)
            : try await session.downloadResult(
                for: request, to: place, keeping: isWanted, umask: umask, progress: tell)
        tellHead(of: result.response)
        let sum = result.isWhole ? try await output.result { try OutputFile.sum(of: file) } : Self.emptySum
        let report = FetchReport(
            result.response, bytes: count, sha256: sum, file: result.isWhole ? file : nil,
            duration: start.duration(to: .now))
        return (report, !result.isWhole)
    }

    // MARK: Output

    private func tellHead(of response: LoadResponse) {
        tellWithheldPassword(response)
        if command.include, !command.output.json { StandardStreams.output(Self.text(of: response)) }
        guard command.verbose else { return }
        note("< \(response.head.status.code)")
    }

    /// Tells the user why the password was not sent.
    private func tellWithheldPassword(_ response: LoadResponse) {
        let isWithheld = response.record?.decisions.contains { decision in
            decision.kind == .withheld && decision.reason?.hasPrefix("basic ") == true
        }
        guard credential != nil, !command.output.json, isWithheld == true else { return }
        StandardStreams.error(
            "sallyport: the server asks by Basic over plain http, so the password was not sent (give --auth basic)")
    }

    private func note(_ text: String) {
        if command.verbose { StandardStreams.error(OneLine.of(text)) }
    }

    /// As in HTTP/1.1, for any version; ends with the empty line.
    private static func text(of response: LoadResponse) -> String {
        let version = response.facts.hops.last?.connection.httpVersion ?? "HTTP"
        let fields = response.head.headerFields.map { "\($0.name.rawName): \($0.value)\n" }.joined()
        return "\(version) \(response.head.status)\n\(fields)"
    }
}
