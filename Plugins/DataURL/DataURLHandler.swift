internal import HTTPTypes
internal import SallyportCore
public import SallyportLoading
public import SallyportURLLoading

/// Loads `data:` URLs (RFC 2397), which contain their answer: no connection, no policy to ask.
///
/// ```swift
/// sallyport.protocols.register(DataURLHandler.self)
/// let answer = try await session.data(for: .get("data:text/plain,hello"))
/// print(answer.body.count)
/// ```
///
/// Answers `GET` and `HEAD` with 200, `Content-Type` and `Content-Length`; any other method, a body, and a URL that
/// ``DataURL`` refuses end with `LoadError` and the code `invalidRequest`. URLs have at most ``DataURL/maximumLength``
/// bytes.
public struct DataURLHandler: ProtocolHandler {
    /// The length of the body's chunks, in bytes.
    private static let chunkSize = 16 << 10

    public init() {}

    /// Whether the scheme is `data`.
    public static func canHandle(_ request: LoadRequest) -> Bool { request.url.scheme == "data" }

    /// Decodes the URL and answers with its data, in chunks of at most 16 KiB. Makes no connection.
    ///
    /// - Throws: `LoadError` with the code `invalidRequest` for another method than `GET` and `HEAD`, for a body, and
    ///   for a URL that ``DataURL`` refuses.
    public func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        guard request.method == .get || request.method == .head, request.body == nil else {
            throw LoadError(.invalidRequest, "A data URL is read with GET or HEAD, without a body.")
        }
        let content = try DataURL(request.url)
        var head = HTTPResponse(status: .ok)
        head.headerFields[.contentType] = content.mediaType
        head.headerFields[.contentLength] = "\(content.bytes.count)"
        try response.begin(head)
        guard request.method == .get else { return }
        for start in stride(from: 0, to: content.bytes.count, by: Self.chunkSize) {
            let end = min(start + Self.chunkSize, content.bytes.count)
            try await response.write(Array(content.bytes[start..<end]))
        }
    }
}
