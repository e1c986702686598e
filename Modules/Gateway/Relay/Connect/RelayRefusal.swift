internal import SallyportWire

/// Why a CONNECT request was refused. Contains nothing that the client sent.
struct RelayRefusal: Error, Hashable {
    let status: Int
    /// An error type of RFC 9209 §2.3.
    let error: String
    let details: String

    init(_ status: Int, _ error: String, _ details: String) {
        self.status = (400...599).contains(status) ? status : 502
        self.error = error
        self.details = details
    }

    /// A request that is not a CONNECT according to RFC 9110 §9.3.6 and RFC 9112.
    static func malformed(_ details: String, status: Int = 400) -> RelayRefusal {
        RelayRefusal(status, ProxyStatus.ErrorType.requestError, details)
    }

    /// What was allowed when CONNECT was judged is not allowed any more.
    static let policyChanged = RelayRefusal(403, ProxyStatus.ErrorType.requestDenied, "The policy changed.")
}

extension RelayRefusal {
    /// The whole response; the connection is closed after it.
    var response: String {
        let member = ProxyStatus.Member("sallyport", error: error, details: details)
        let proxyStatus = (try? ProxyStatus([member]).serialized()) ?? "sallyport"
        let body = details + "\n"
        return """
            HTTP/1.1 \(status) \(reason)\r
            Proxy-Status: \(proxyStatus)\r
            \(status == 405 ? "Allow: CONNECT\r\n" : "")Content-Type: text/plain; charset=utf-8\r
            Content-Length: \(body.utf8.count)\r
            Connection: close\r
            \r
            \(body)
            """
    }

    private var reason: String {
        switch status {
        case 400: "Bad Request"
        case 403: "Forbidden"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 431: "Request Header Fields Too Large"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 505: "HTTP Version Not Supported"
        default: "Refused"
        }
    }
}
