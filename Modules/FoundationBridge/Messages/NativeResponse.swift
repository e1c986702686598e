internal import Foundation
internal import FoundationNetworking
internal import HTTPTypes
internal import SallyportCore
internal import SallyportLoading

/// An answer's head as a native one.
enum NativeResponse {
    /// Replaces `WWW-Authenticate` in an answer with the status 401.
    ///
    /// When such an answer ends, FoundationNetworking looks for the field, asks the session's delegate about it, and
    /// then either loads the request again with its own HTTP, which connects directly, or never completes the task.
    static let withheldChallenge = "X-Withheld-WWW-Authenticate"

    /// - Throws: `protocolViolation` for a head that the native type refuses; no such head is known.
    static func head(_ response: LoadResponse) throws(LoadError) -> HTTPURLResponse {
        let version = response.facts.hops.last?.connection.httpVersion ?? ""
        guard let url = URL(string: response.url.description),
            let head = HTTPURLResponse(
                url: url, statusCode: response.head.status.code,
                httpVersion: version.isEmpty ? "HTTP/1.1" : version, headerFields: fields(of: response.head))
        else { throw LoadError(.protocolViolation, at: .response, "The head has no native form.") }
        return head
    }

    /// Fields of one name are joined (RFC 9110 §5.2), also `Set-Cookie`, as FoundationNetworking does. Names in two
    /// spellings are one: the native type would keep one of the two fields.
    private static func fields(of head: HTTPResponse) -> [String: String] {
        var spellings: [HTTPField.Name: String] = [:]
        var fields: [String: String] = [:]
        for field in head.headerFields {
            let isWithheld = head.status.code == 401 && field.name == .wwwAuthenticate
            let name = isWithheld ? withheldChallenge : spellings[field.name] ?? field.name.rawName
            spellings[field.name] = name
            fields[name] = fields[name].map { "\($0), \(field.value)" } ?? field.value
        }
        return fields
    }
}
