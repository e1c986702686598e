import ArgumentParser
import Logging

/// How a long-running command logs, on standard error.
struct LogOptions: ParsableArguments {
    @Option(
        name: .customLong("log-level"), help: LogLevelArgument.help, transform: expecting(LogLevelArgument.expected))
    var level = LogLevelArgument.notice
    @Option(
        name: .customLong("log-format"),
        help: ArgumentHelp("text, or json: one object a line. Default: text.", valueName: "format"),
        transform: expecting(LogFormatArgument.expected))
    var format = LogFormatArgument.text

    /// Sends all logs to standard error. Once a process.
    func bootstrap() {
        let (level, format) = (level.level, format)
        LoggingSystem.bootstrap { label in
            var handler: any LogHandler =
                switch format {
                case .text: StreamLogHandler.standardError(label: label)
                case .json: JSONLogHandler(label: label) { StandardStreams.write($0, to: 2) }
                }
            handler.logLevel = level
            return handler
        }
    }
}

/// The form of a log's lines.
enum LogFormatArgument: String, ExpressibleByArgument, Sendable {
    case text, json

    static let expected = "One of text and json"
}
