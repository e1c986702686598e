import ArgumentParser
import Logging

/// How much is logged.
struct LogLevelArgument: ExpressibleByArgument, Sendable, Hashable {
    let level: Logger.Level

    static let notice = LogLevelArgument(level: .notice)

    init?(argument: String) {
        guard let level = Logger.Level(rawValue: argument) else { return nil }
        self.level = level
    }

    private init(level: Logger.Level) { self.level = level }

    static let help = ArgumentHelp("trace, debug, info, notice, warning or error. Default: notice.")
    static let expected = "One of trace, debug, info, notice, warning and error"
}
