internal import Crypto
internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// Removes secrets from recordings.
struct Redaction {
    static let placeholder = "REDACTED"
    /// Fields that contain a URL.
    private static let references: Set<HTTPField.Name> = [.location, .contentLocation, .referer]
    /// Fields that depend on one connection, or on the original bytes.
    private static let perConnection: Set<HTTPField.Name> = [
        .contentLength, .transferEncoding, .connection, .trailer, .upgrade,
    ]

    let settings: CassetteSettings

    func isSecret(_ name: HTTPField.Name) -> Bool {
        CassetteSettings.alwaysSecretFields.contains(name) || settings.secretFields.contains(name)
    }

    /// The URL without its fragment and without the values of secret parameters.
    func url(_ url: RequestURL) -> String { reference(url.absoluteText) }

    /// A URL or a relative reference, without its fragment, which may be secret too.
    private func reference(_ text: String) -> String {
        let text = text.prefix { $0 != "#" }
        guard let mark = text.firstIndex(of: "?") else { return String(text) }
        let query = text[text.index(after: mark)...].split(separator: "&", omittingEmptySubsequences: false)
        return text[...mark] + query.map(parameter).joined(separator: "&")
    }

    private func parameter(_ text: Substring) -> String {
        guard let equals = text.firstIndex(of: "=") else { return String(text) }
        let name = text[..<equals]
        let bytes = PercentCoding.decoded(String(name))
        let plain = bytes.map { String(decoding: $0, as: UTF8.self) } ?? String(name)
        let isSecret = settings.secretParameters.contains { $0.lowercased() == plain.lowercased() }
        return isSecret ? "\(name)=\(Self.placeholder)" : String(text)
    }

    /// The fields of an answer that are recorded. `Content-Length` of an answer to `HEAD`, and of a 304, is that of a
    /// body which is not sent (RFC 9110 §8.6): a replay cannot count it.
    private func answerFields(_ head: HTTPResponse, to method: HTTPRequest.Method) -> [RecordedField] {
        var omitted = Self.perConnection
        if method == .head || head.status.code == 304 { omitted.remove(.contentLength) }
        return head.headerFields.filter { !isSecret($0.name) && !omitted.contains($0.name) }
            .map { RecordedField(name: $0.name.rawName, value: value(of: $0)) }
    }

    /// The fields of a request that are recorded and compared, in the order of their names.
    func matchedFields(_ fields: HTTPFields) -> [RecordedField] {
        fields.filter { settings.matchedFields.contains($0.name) && !isSecret($0.name) }
            .map { RecordedField(name: $0.name.canonicalName, value: value(of: $0)) }
            .sorted { ($0.name, $0.value) < ($1.name, $1.value) }
    }

    private func value(of field: HTTPField) -> String {
        Self.references.contains(field.name) ? reference(field.value) : field.value
    }

    /// The request as it is recorded and compared.
    func request(_ request: LoadRequest, body: [UInt8]?) -> RecordedRequest {
        let body = body.map { settings.redact(.request, $0) }
        return RecordedRequest(
            method: request.method.rawValue, url: url(request.url), fields: matchedFields(request.headerFields),
            bodyDigest: body.map { Hexadecimal.text(SHA256.hash(data: $0)) },
            body: settings.recordsRequestBodies ? body.map(RecordedBody.init) : nil)
    }

    func answer(_ response: LoadResponse, to request: LoadRequest, body: [UInt8]) -> RecordedAnswer {
        let last = self.url(response.url)
        return RecordedAnswer(
            status: response.head.status.code, reason: response.head.status.reasonPhrase,
            url: last == self.url(request.url) ? nil : last, fields: answerFields(response.head, to: request.method),
            body: RecordedBody(settings.redact(.response, body)))
    }
}
