internal import Logging

/// Tells the log when the store can no longer be followed, and when it can again: once each, however long it lasts.
struct StoreWatch {
    private let logger: Logger
    private var last: GatewayError.Code?

    init(logger: Logger) { self.logger = logger }

    mutating func note(_ trouble: GatewayError?) {
        defer { last = trouble?.code }
        // The words differ by which of several hosts was tried first.
        switch trouble {
        case let trouble? where trouble.code != last:
            logger.error(
                "The gateway's store cannot be followed: what is known stays in force.",
                metadata: ["error": "\(trouble.message)"])
        case nil where last != nil: logger.notice("The gateway's store is followed again.")
        default: break
        }
    }
}
