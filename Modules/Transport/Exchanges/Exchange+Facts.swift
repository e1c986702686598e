internal import CCurl
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
        if let handle = attempt.handle {
            (report.timing, report.connection) = (timing, connectionFacts)
            report.requestDone = requestDone.map(attempt.elapsed)
            (report.sent, report.received) = (handle.sentOctets, handle.receivedOctets)
        }
        (report.tlsVersion, report.tlsCipher) = (tls?.version, tls?.cipher)
        reporter(report)
    }

    private var isReused: Bool { attempt.handle?.long(CURLINFO_NUM_CONNECTS) == 0 }

    var timing: ExchangeTiming {
        var timing = ExchangeTiming()
        timing.queue = queueTime
        guard let handle = attempt.handle else { return timing }
        timing.requestSent = queueTime + handle.microseconds(CURLINFO_PRETRANSFER_TIME_T)
        timing.firstByte = queueTime + handle.microseconds(CURLINFO_STARTTRANSFER_TIME_T)
        guard !isReused else { return timing }
        attempt.tellConnecting(to: &timing, handle, isDirect: pool?.configuration.path.isDirect ?? true)
        return timing
    }

    var connectionFacts: ConnectionFacts {
        guard let handle = attempt.handle else { return ConnectionFacts() }
        var facts = attempt.connectionFacts(handle, proxy: pool?.configuration.path.proxy)
        facts.isReused = isReused
        facts.httpVersion =
            handle.long(CURLINFO_HTTP_VERSION) == Int(CURL_HTTP_VERSION_2_0)
            ? "HTTP/2" : "HTTP/1.1"
        if let pool, pool.configuration.path.owner != nil { facts.number = pool.connectionNumber }
        facts.channelBinding = channelBinding
        return facts
    }
}
