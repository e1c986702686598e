/// `Authentication-Info` or `Proxy-Authentication-Info` (RFC 7615, RFC 7616 §3.5): what a server says once it has accepted
/// somebody.
struct AuthenticationInfo: Sendable, Hashable {
    /// The most parameters that are read.
    static let limit = 16

    /// What proves that the server knows the password as well.
    var responseProof: String?
    var nextNonce: String?
    /// As the request had them.
    var clientNonce: String?
    var count: String?
    var protection: DigestProtection?

    /// What is malformed is passed over; of parameters of one name the first counts.
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
