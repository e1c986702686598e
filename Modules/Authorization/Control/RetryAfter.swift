internal import HTTPTypes
internal import SallyportCore

/// How a gateway's `Retry-After` is followed (RFC 9110 §10.2.3).
enum RetryAfter {
    /// How often one request is sent at most, including the first time.
    static let tries = 5
    /// The longest wait between two tries. If a gateway asks for more, the request is not sent again.
    static let longest: Duration = .seconds(10)
    /// The longest time that a request waits, all tries together.
    static let total: Duration = .seconds(30)

    /// How long to wait before the next try, at least a second; nil if the request is not to be sent again.
    ///
    /// - Parameter statuses: those that are followed.
    static func wait(_ answer: ControlAnswer, of statuses: Set<Int> = [429]) -> Duration? {
        guard statuses.contains(answer.status), let field = answer.headerFields[.retryAfter],
            (1...3).contains(field.utf8.count), field.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let seconds = Int(field)
        else { return nil }
        let wait = Duration.seconds(max(1, seconds))
        return wait <= longest ? wait : nil
    }
}

extension ControlClient {
    /// Sends a request, and sends it again if the gateway says how long to wait: because requests come too often or, if
    /// that is followed too, because it is not ready.
    ///
    /// - Parameter patience: for all tries and waits together; nil for the time-out of each, and ``RetryAfter/total``.
    func send(
        _ request: ControlRequest, waitingBy clock: any AuthorizationClock, tries: Int = RetryAfter.tries,
        within patience: Patience? = nil, following statuses: Set<Int> = [429]
    ) async throws(AuthorizationError) -> ControlAnswer {
        var answer = try await sent(request)
        var waited = Duration.zero
        for _ in 1..<tries {
            guard let wait = RetryAfter.wait(answer, of: statuses), waited + wait <= RetryAfter.total,
                patience?.allows(wait) ?? true
            else { return answer }
            waited += wait
            do { try await clock.sleep(for: wait) } catch { throw .cancelled() }
            var again = request
            if let patience { again.timeout = patience.rest }
            answer = try await sent(again)
        }
        return answer
    }

    private func sent(_ request: ControlRequest) async throws(AuthorizationError) -> ControlAnswer {
        do { return try await send(request) } catch { throw error.asAuthorizationError() }
    }
}
