internal import Logging

/// What a gateway does for itself once an hour: it renews its certificates and keys, and forgets old access keys.
struct GatewayUpkeep {
    static let interval = Duration.seconds(3600)
    /// After a failure, as while the fleet's database is away: a gateway goes on without it.
    static let retry = Duration.seconds(60)

    private let data: GatewayData
    private let logger: Logger
    private var due: ContinuousClock.Instant

    init(data: GatewayData, logger: Logger) {
        (self.data, self.logger) = (data, logger)
        due = .now + Self.interval
    }

    mutating func runIfDue() async {
        guard .now >= due else { return }
        due = .now + (await run() ? Self.interval : Self.retry)
    }

    /// - Returns: whether all of it was done. What fails does not keep the others from being done.
    func run() async -> Bool {
        let steps: [(name: String, body: () async throws -> Void)] = [
            ("renew its certificates", { try await data.renewOwnCertificates() }),
            ("renew its token keys", { try await data.renewTokenKeys() }),
            ("forget old access keys", { try await data.forgetOldKeys() }),
        ]
        var isDone = true
        for step in steps {
            do { try await step.body() } catch {
                isDone = false
                logger.error(
                    "The gateway could not \(step.name); it tries again in a minute.",
                    metadata: ["error": "\(GatewayError(error).message)"])
            }
        }
        return isDone
    }
}
