public import HTTPTypes
internal import SallyportWire

/// The gateway's verification service. The app server brings its own HTTP client: this module links none.
public protocol AuthTokenService: Sendable {
    /// Sends `GET https://GATEWAY/verifyGDAuthToken` with these fields, over TLS that verified to the gateway's
    /// authority, follows no redirect, and gives the head of the answer.
    ///
    /// Called by the task of a verification that waits for it: it must end in time, and may throw anything.
    func verify(_ headerFields: HTTPFields) async throws -> HTTPResponse
}

/// What the service said of a token.
struct ServiceAnswer {
    let verdict: AuthTokenAPI.Verdict
    private let fields: HTTPFields

    /// - Throws: `unavailable` for anything that is no verdict, as what a proxy in between answers.
    init(_ response: HTTPResponse) throws(AuthTokenVerificationError) {
        guard response.status == .ok, let code = Self.value(AuthTokenAPI.Field.code, of: response.headerFields),
            let verdict = AuthTokenAPI.Verdict(fieldValue: code)
        else {
            throw AuthTokenVerificationError(
                .unavailable, "The service returned no result: status \(response.status.code).")
        }
        self.verdict = verdict
        fields = response.headerFields
    }

    static func request(for token: String) -> HTTPFields {
        var fields = HTTPFields()
        if let name = HTTPField.Name(AuthTokenAPI.Field.token) { fields[name] = token }
        return fields
    }

    /// Whether the service speaks of the token that it was asked about. All that it tells counts, since nothing else
    /// vouches for what the token says.
    func speaks(of claims: AuthTokenClaims) -> Bool {
        AuthTokenAPI.told(of: claims).allSatisfy { (Self.value($0.field, of: fields) ?? "") == $0.value }
    }

    private static func value(_ name: String, of fields: HTTPFields) -> String? {
        HTTPField.Name(name).flatMap { fields[$0] }
    }
}
