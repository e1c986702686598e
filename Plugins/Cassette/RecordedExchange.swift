internal import FoundationEssentials
internal import HTTPTypes
internal import SallyportCore

/// One recorded request and its answer, without secrets.
public struct RecordedExchange: Sendable, Hashable, Codable, CustomStringConvertible {
    let request: RecordedRequest
    let response: RecordedAnswer

    /// The request's method.
    public var method: String { request.method }
    /// Without a fragment; the values of secret parameters are replaced.
    public var url: String { request.url }
    /// The answer's status code.
    public var status: Int { response.status }

    /// Method and URL, without the query.
    public var description: String { request.description }
}

/// The request of an exchange: equal if one may be replayed for the other.
struct RecordedRequest: Sendable, Codable, Hashable, CustomStringConvertible {
    var method: String
    var url: String
    var fields: [RecordedField]
    /// SHA-256 in hexadecimal; nil if there is no body.
    var bodyDigest: String?
    /// For people; only the digest is compared.
    var body: RecordedBody?

    static func == (left: RecordedRequest, right: RecordedRequest) -> Bool {
        left.method == right.method && left.url == right.url && left.fields == right.fields
            && left.bodyDigest == right.bodyDigest
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(method)
        hasher.combine(url)
        hasher.combine(bodyDigest)
    }

    var description: String { "\(method) \(url.prefix { $0 != "?" })" }

    /// The differences from another request; empty if it is the same.
    func differences(from other: RecordedRequest) -> [String] {
        let (path, query) = Self.split(url)
        let (otherPath, otherQuery) = Self.split(other.url)
        var differences: [String] = []
        if path != otherPath { differences.append("URL") }
        if method != other.method { differences.append("method") }
        if query != otherQuery { differences.append("query") }
        if fields != other.fields { differences.append("header") }
        if bodyDigest != other.bodyDigest { differences.append("body") }
        return differences
    }

    private static func split(_ url: String) -> (path: Substring, query: Substring) {
        let path = url.prefix { $0 != "?" }
        return (path, url.dropFirst(path.count))
    }
}

struct RecordedField: Sendable, Codable, Hashable {
    var name: String
    var value: String
}

/// The answer of an exchange.
struct RecordedAnswer: Sendable, Codable, Hashable {
    var status: Int
    var reason: String?
    /// The URL that answered, if redirects led to another one.
    var url: String?
    var fields: [RecordedField]
    var body: RecordedBody

    /// - Parameter isBodyless: whether no body comes with it; a recorded length then stays as it is.
    /// - Throws: `malformed` if it is not a valid answer.
    func head(isBodyless: Bool) throws(CassetteError) -> HTTPResponse {
        guard (100...999).contains(status), reason?.allSatisfy({ $0.isASCII && !$0.isNewline }) ?? true else {
            throw CassetteError(.malformed, "A status is none.")
        }
        var head = HTTPResponse(status: .init(code: status, reasonPhrase: reason ?? ""))
        for field in fields {
            guard let name = HTTPField.Name(field.name), HTTPField.isValidValue(field.value) else {
                throw CassetteError(.malformed, "A field is none that HTTP can carry.")
            }
            head.headerFields.append(HTTPField(name: name, value: field.value))
        }
        if !isBodyless { head.headerFields[.contentLength] = "\(body.bytes.count)" }
        return head
    }
}

/// A body: as text if possible, otherwise as base64.
struct RecordedBody: Sendable, Codable, Hashable {
    let bytes: [UInt8]

    private enum Key: String, CodingKey {
        case text, base64
    }

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        if let text = try container.decodeIfPresent(String.self, forKey: .text) {
            bytes = Array(text.utf8)
        } else {
            let data = try container.decode(Data.self, forKey: .base64)
            bytes = Array(data)
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        // Only text that people can read and that is restored unchanged.
        if let text = String(validating: bytes, as: UTF8.self), !bytes.contains(where: Self.isControl) {
            try container.encode(text, forKey: .text)
        } else {
            try container.encode(Data(bytes), forKey: .base64)
        }
    }

    private static func isControl(_ byte: UInt8) -> Bool { byte < 32 && byte != 10 && byte != 13 && byte != 9 }
}
