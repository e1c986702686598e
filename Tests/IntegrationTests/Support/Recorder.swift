import Logging
import Synchronization

/// What was logged and told.
final class Recorder: Sendable {
    private let lines = Mutex<[String]>([])
    var text: String { lines.withLock { $0.joined(separator: "\n") } }
    /// Writes here, at trace.
    var logger: Logger { Logger(label: "app") { _ in RecordingHandler(recorder: self) } }
    func append(_ line: String) { lines.withLock { $0.append(line) } }
}

private struct RecordingHandler: LogHandler {
    let recorder: Recorder
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        recorder.append("\(event.level) \(event.message) \(metadata) \(event.metadata ?? [:])")
    }
}
