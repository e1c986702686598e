import SallyportCore
import SallyportLoading

/// Reports how loads went: for people on standard error, and as a line of JSON for each load in a file.
struct RecordTeller: Sendable {
    let isVerbose: Bool
    /// The streams of the command, since records are reported on any thread.
    private let workplace = Workplace.current
    private let file: RecordFile?

    /// - Throws: ``CommandFailure`` if the file cannot be written.
    init(isVerbose: Bool, file path: String?) throws(CommandFailure) {
        self.isVerbose = isVerbose
        file = try path.map { path throws(CommandFailure) in try RecordFile(path) }
    }

    func tell(_ record: LoadRecord) {
        Workplace.$current.withValue(workplace) {
            if isVerbose {
                for line in RecordText.lines(of: record) { StandardStreams.error(line) }
            }
            file?.append(record.json)
        }
    }
}

/// A record as lines for people.
enum RecordText {
    static func lines(of record: LoadRecord) -> [String] {
        var lines = record.hops.enumerated().flatMap { self.lines(of: $1, number: $0 + 1) }
        for decision in record.decisions where decision.kind != .route {
            let reason = decision.reason.map { " (\($0))" } ?? ""
            lines.append(line(decision.kind.rawValue, "\(decision.value)\(reason), after \(time(decision.at))"))
        }
        let head = record.head.map { ", head after \(time($0))" } ?? ""
        lines.append(
            line("end", "\(record.outcome) after \(time(record.duration))\(head), \(record.bodyBytes) bytes read"))
        return lines
    }

    private static func lines(of hop: LoadRecord.Hop, number: Int) -> [String] {
        let result = hop.status.map(String.init) ?? hop.error.map(text) ?? "no answer"
        var lines = [line("hop \(number)", "\(hop.method) \(hop.url): \(result)")]
        if let route = hop.route { lines.append(line("route", route + (hop.rule.map { " (\($0))" } ?? ""))) }
        lines.append(line("connection", connection(hop.connection)))
        if let status = hop.connection.proxyStatus { lines.append(line("Proxy-Status", status)) }
        let times = hop.phases.named.map { "\($0.name) \(time($0.time))" }
        if !times.isEmpty { lines.append(line("time", times.joined(separator: ", "))) }
        lines.append(line("sent", "head \(hop.sent.head), body \(hop.sent.body) bytes"))
        lines.append(line("received", "head \(hop.received.head), body \(hop.received.body) bytes"))
        return lines
    }

    private static func text(_ failure: LoadRecord.Failure) -> String {
        failure.code + (failure.step.map { " at \($0)" } ?? "")
    }

    private static func connection(_ connection: LoadRecord.Connection) -> String {
        guard let address = connection.remoteAddress else { return "none" }
        var parts = [connection.isReused ? "used again" : "new", connection.http ?? "HTTP"]
        if let tls = connection.tls {
            parts.append(([tls] + [connection.cipher].compactMap(\.self)).joined(separator: " "))
        }
        if let relay = connection.relay { parts.append("through relay \(relay)") }
        if let proxy = connection.proxy { parts.append("through proxy \(proxy)") }
        parts.append("to \(address) port \(connection.remotePort ?? 0)")
        return parts.joined(separator: ", ")
    }

    /// Milliseconds, to the tenth.
    private static func time(_ seconds: Double) -> String { "\((seconds * 10_000).rounded() / 10) ms" }

    private static func line(_ name: String, _ text: String) -> String {
        let padding = String(repeating: " ", count: max(0, 15 - name.count))
        return "* \(name)\(padding)\(OneLine.of(text))"
    }
}
