internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading

// The facts of an exchange once it has a response, or has ended.
extension Exchange {
    func report(_ failure: LoadError?) {
        guard let reporter = request.reporter else { return }
        var report = ExchangeReport()
        report.failure = failure
        report.end = attempt.elapsed(until: .now)
        if let connection = attempt.connection {
            (report.timing, report.connection) = (timing, connectionFacts.facts)
            report.requestDone = requestDone.map(attempt.elapsed)
            (report.sent, report.received) = (connection.sentBytes, connection.receivedBytes)
        }
        (report.tlsVersion, report.tlsCipher) = (tls?.version, tls?.cipher)
        reporter(report)
    }

    var timing: ExchangeTiming {
        let isDirect = pool?.configuration.path.isDirect ?? true
        if let timing = attempt.connection?.timing(of: attempt, queue: queueTime, isDirect: isDirect) { return timing }
        var timing = ExchangeTiming()
        timing.queue = queueTime
        return timing
    }

    var connectionFacts: SharedConnectionFacts {
        guard let connection = attempt.connection else { return .none }
        let shared = connection.facts(of: attempt, proxy: pool?.configuration.path.proxy)
        let number = pool?.configuration.path.owner == nil ? nil : pool?.connectionNumber
        guard number != nil || channelBinding != nil else { return shared }
        var facts = shared.facts
        (facts.number, facts.channelBinding) = (number, channelBinding)
        return SharedConnectionFacts(facts)
    }
}
