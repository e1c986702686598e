internal import HTTPTypes
internal import SallyportCore
internal import SallyportLoading
internal import Tracing

/// The attributes of OpenTelemetry's HTTP client spans, and ours under `sallyport.`; none of what may be secret.
extension Span {
    func describe(_ request: LoadRequest) {
        updateAttributes { attributes in
            attributes["http.request.method"] = request.method.rawValue
            attributes["url.full"] = request.url.redacted
            attributes["server.address"] = request.url.endpoint?.host.bareText
            attributes["server.port"] = (request.url.endpoint?.port).map { Int($0) }
        }
    }

    /// - Parameter start: of the load, in nanoseconds since 1970.
    func describe(_ record: LoadRecord, since start: UInt64) {
        updateAttributes { attributes in
            attributes["http.response.status_code"] = record.status
            attributes["http.response.body.size"] = record.hops.last?.received.body
            attributes["http.request.body.size"] = record.hops.last?.sent.body
            attributes["http.request.resend_count"] = record.hops.count > 1 ? record.hops.count - 1 : nil
            attributes["network.protocol.name"] = record.hops.last?.connection.http == nil ? nil : "http"
            attributes["network.protocol.version"] = record.hops.last?.connection.http?.split(separator: "/").last.map(
                String.init)
            attributes["network.peer.address"] = record.hops.last?.connection.remoteAddress
            attributes["network.peer.port"] = record.hops.last?.connection.remotePort
            attributes["tls.protocol.version"] = record.hops.last?.connection.tls
            attributes["tls.cipher"] = record.hops.last?.connection.cipher
            attributes["sallyport.route"] = record.hops.last?.route
            attributes["sallyport.outcome"] = record.outcome
        }
        for hop in record.hops { addEvent(SpanEvent(hop, since: start)) }
        guard let error = record.error else {
            // OpenTelemetry: an answer of 400 or above is an error to the client.
            guard let status = record.status, status >= 400 else { return }
            attributes["error.type"] = "\(status)"
            return setStatus(SpanStatus(code: .error))
        }
        let type = error.step.map { "\(error.code)@\($0)" } ?? error.code
        attributes["error.type"] = type
        setStatus(SpanStatus(code: .error, message: type))
    }
}

extension SpanEvent {
    /// One exchange, at its start.
    fileprivate init(_ hop: LoadRecord.Hop, since start: UInt64) {
        var attributes: SpanAttributes = ["http.request.method": "\(hop.method)", "url.full": "\(hop.url)"]
        attributes["http.response.status_code"] = hop.status
        attributes["error.type"] = hop.error?.code
        attributes["sallyport.relay"] = hop.connection.relay
        attributes["sallyport.proxy"] = hop.connection.proxy
        attributes["sallyport.connection.reused"] = hop.connection.isReused
        for (name, time) in hop.phases.named { attributes["sallyport.phase.\(name)"] = time }
        let instant = EpochInstant(nanosecondsSinceEpoch: start + UInt64(max(0, hop.start) * 1e9))
        self.init(name: "sallyport.exchange", at: instant, attributes: attributes)
    }
}

private struct EpochInstant: TracerInstant {
    let nanosecondsSinceEpoch: UInt64

    static func < (left: EpochInstant, right: EpochInstant) -> Bool {
        left.nanosecondsSinceEpoch < right.nanosecondsSinceEpoch
    }
}
