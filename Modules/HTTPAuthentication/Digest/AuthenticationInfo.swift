/// `Authentication-Info` or `Proxy-Authentication-Info` (RFC 7615, RFC 7616 §3.5), which a server sends after it has
/// accepted a user.
struct AuthenticationInfo: Sendable, Hashable {
    /// The most parameters that are read.
    static let limit = 16

    /// The proof that the server knows the password too.
    var responseProof: String?
    var nextNonce: String?
    /// The values of the request.
    var clientNonce: String?
    var count: String?
    var protection: DigestProtection?

    /// Malformed parameters are skipped; of several with the same name, the first counts.
    init(_ fields: [String]) {
        var parameters: [String: String] = [:]
        for field in fields {
            var scanner = ElementScanner(field)
            while parameters.count < Self.limit, let element = scanner.next() {
                var reader = ParameterReader(element)
                guard let parameter = reader.parameter(), reader.isAtEnd, parameters[parameter.name] == nil else {
                    continue
                }
                parameters[parameter.name] = parameter.value
            }
        }
        responseProof = parameters["rspauth"]
        nextNonce = parameters["nextnonce"].flatMap { !$0.isEmpty && DigestChallenge.isOpaque($0) ? $0 : nil }
        clientNonce = parameters["cnonce"]
        count = parameters["nc"]
        protection = parameters["qop"].flatMap { DigestProtection(rawValue: $0.lowercased()) }
    }
}
