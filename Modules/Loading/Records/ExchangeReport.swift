package import SallyportCore

/// The transport's report on an exchange or a stream that has ended. Instants are counted from its start.
package struct ExchangeReport: Sendable {
    package var timing = ExchangeTiming()
    package var connection = ConnectionFacts()
    /// When the connection was asked for, or the one through the last of several relays; zero if none was.
    package var dialed = Duration.zero
    /// When the last byte of the request's body was handed over.
    package var requestDone: Duration?
    package var end = Duration.zero
    package var tlsVersion: String?
    package var tlsCipher: String?
    package var sent = LoadRecord.Bytes()
    package var received = LoadRecord.Bytes()
    package var failure: LoadError?
    /// How a stream that was open has ended; nil for an exchange, and for a stream that could not be opened.
    package var streamEnd: LoadRecorder.End?

    package init() {}
}

extension LoadRecord.Hop {
    /// Adopts the transport's report of a hop that began at ``start``.
    package mutating func take(_ report: ExchangeReport) {
        end = start + report.end.seconds
        error = report.failure.map { LoadRecord.Failure($0) }
        phases = LoadRecord.Phases(report)
        connection = LoadRecord.Connection(report)
        (sent, received) = (report.sent, report.received)
    }
}

extension LoadRecord.Phases {
    package init(_ report: ExchangeReport) {
        let timing = report.timing
        /// The last known instant, at which the next phase begins. What came to nothing before the last connection was
        /// asked for is no phase.
        var last = max(timing.queue, report.dialed)
        func phase(until instant: Duration) -> Double? {
            guard instant > .zero, instant >= last else { return nil }
            defer { last = instant }
            return (instant - last).seconds
        }
        queue = timing.queue > .zero ? timing.queue.seconds : nil
        name = phase(until: timing.nameLookup)
        connect = phase(until: timing.connect)
        relayTLS = phase(until: timing.relaySecured)
        relay = phase(until: timing.relayAnswered)
        tls = phase(until: timing.secured)
        // Time between two phases belongs to neither.
        last = max(last, timing.requestSent)
        // Measured by another clock than the first byte, and an answer may come before everything was sent.
        let answered = timing.firstByte > .zero ? max(timing.firstByte, last) : .seconds(Int64.max)
        request = report.requestDone.flatMap { phase(until: min(max($0, last), answered)) }
        wait = phase(until: timing.firstByte)
        response = timing.firstByte > .zero ? phase(until: report.end) : nil
    }
}

extension LoadRecord.Connection {
    package init(_ report: ExchangeReport) {
        let facts = report.connection
        isReused = facts.isReused
        proxy = facts.proxy
        // If there was no connection, libcurl's values are meaningless.
        guard !facts.remoteAddress.isEmpty else { return }
        http = facts.httpVersion.isEmpty ? nil : facts.httpVersion
        (tls, cipher) = (report.tlsVersion, report.tlsCipher)
        (remoteAddress, remotePort) = (facts.remoteAddress, Int(facts.remotePort))
        localAddress = facts.localAddress
        relay = facts.relay.map { "\($0)" }
        proxyStatus = facts.proxyStatus
    }
}
