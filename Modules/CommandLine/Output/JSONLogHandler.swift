import FoundationEssentials
import Logging

/// Writes each entry of the log as one line of JSON: `time` (RFC 3339, UTC), `level`, `label`, `message`, and the
/// entry's `metadata` with its structure. An entry with an error has its text as `error`.
///
/// It adds nothing to what is logged as text, so it tells no more than that. A line is written by one call, so that
/// lines of several threads are not mixed.
struct JSONLogHandler: LogHandler {
    private struct Line: Encodable {
        let time: String
        let level: String
        let label: String
        let message: String
        let error: String?
        let metadata: [String: Value]?
    }

    /// Metadata with its structure.
    private enum Value: Encodable {
        case text(String)
        case object([String: Value])
        case array([Value])

        init(_ value: Logger.MetadataValue) {
            switch value {
            case .string(let text): self = .text(text)
            case .stringConvertible(let value): self = .text(value.description)
            case .dictionary(let members): self = .object(members.mapValues(Value.init))
            case .array(let elements): self = .array(elements.map(Value.init))
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .object(let members): try container.encode(members)
            case .array(let elements): try container.encode(elements)
            }
        }
    }

    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    var logLevel = Logger.Level.info
    private let label: String
    private let clock: @Sendable () -> Date
    private let write: @Sendable ([UInt8]) -> Void

    /// - Parameter write: writes a whole line, with its end.
    init(
        label: String, clock: @escaping @Sendable () -> Date = { Date() },
        to write: @escaping @Sendable ([UInt8]) -> Void
    ) {
        (self.label, self.clock, self.write) = (label, clock, write)
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// What the entry says itself wins over what the task says, and that over what the logger says.
    func log(event: LogEvent) {
        let all = metadata.merging(metadataProvider?.get() ?? [:]) { $1 }.merging(event.metadata ?? [:]) { $1 }
        let line = Line(
            time: clock().formatted(Self.time), level: event.level.rawValue, label: label,
            message: event.message.description, error: event.error.map { "\($0)" },
            metadata: all.isEmpty ? nil : all.mapValues(Value.init))
        write(Array((JSONOutput.text(line) + "\n").utf8))
    }

    private static let time = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
}
