internal import HTTPTypes
internal import SallyportCore
internal import SallyportLoading

/// The request line and the fields of a request in HTTP/1.1 (RFC 9112 §3).
///
/// `Host`, the body's framing and `Expect` are created here; such fields of a request are dropped, since duplicates
/// would make the request ambiguous.
enum RequestHead {
    /// - Parameter host: the line `Host`, with its line break.
    static func append(
        _ request: ExchangeRequest, with upload: Upload, to bytes: inout [UInt8], host: [UInt8]
    ) {
        let url = request.url
        bytes.reserveCapacity(bytes.count + 512)
        append(request.method.rawValue, to: &bytes)
        bytes.append(32)
        append(url.path, to: &bytes)
        if let query = url.query {
            bytes.append(UInt8(ascii: "?"))
            append(query, to: &bytes)
        }
        append(" HTTP/1.1\r\n", to: &bytes)
        bytes += host
        appendFields(of: request, to: &bytes)
        appendFraming(of: request, with: upload, to: &bytes)
        append("\r\n", to: &bytes)
    }

    /// The `host` argument of ``append(_:with:to:host:)``.
    static func hostLine(for request: ExchangeRequest) -> [UInt8] { Array("Host: \(request.url.hostField)\r\n".utf8) }

    private static func appendFields(of request: ExchangeRequest, to bytes: inout [UInt8]) {
        var saysAccept = false
        for field in request.headerFields where !HeaderLines.isOwnField(field.name) {
            if field.name == .accept { saysAccept = true }
            append(field.name.rawName, to: &bytes)
            append(":", to: &bytes)
            unsafe field.withUnsafeBytesOfValue { value in
                if !value.isEmpty { bytes.append(32) }
                unsafe bytes.append(contentsOf: value)
            }
            append("\r\n", to: &bytes)
        }
        if !saysAccept { append("Accept: */*\r\n", to: &bytes) }
    }

    private static func appendFraming(
        of request: ExchangeRequest, with upload: Upload, to bytes: inout [UInt8]
    ) {
        guard upload.hasBody || Upload.expectsBody(request.method) else { return }
        if upload.isChunked {
            append("Transfer-Encoding: chunked\r\n", to: &bytes)
        } else {
            append("Content-Length: ", to: &bytes)
            append(String(upload.totalBytes ?? 0), to: &bytes)
            append("\r\n", to: &bytes)
        }
        if request.asksToContinue, request.headerFields[.expect] == nil {
            append("Expect: 100-continue\r\n", to: &bytes)
        }
    }

    private static func append(_ text: String, to bytes: inout [UInt8]) {
        var text = text
        text.withUTF8 { unsafe bytes.append(contentsOf: $0) }
    }

    private static func append(_ text: StaticString, to bytes: inout [UInt8]) {
        unsafe bytes.append(
            contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}
