internal import SallyportCore

// The authentication schemes that apps may use.
extension Directory {
    /// All schemes, in the order in which they are shown.
    static let knownSchemes = ["basic", "digest", "negotiate", "ntlm", "ntlmv1"]
    /// The default: all except the one whose responses are as sensitive as the password.
    static let standardSchemes: Set<String> = ["basic", "digest", "negotiate", "ntlm"]

    var schemes: Set<String> {
        get { allowedSchemes ?? Self.standardSchemes }
        set { allowedSchemes = newValue == Self.standardSchemes ? nil : newValue }
    }

    mutating func allowScheme(_ name: String) throws(GatewayError) { schemes.insert(try Self.scheme(name)) }

    mutating func forbidScheme(_ name: String) throws(GatewayError) { schemes.remove(try Self.scheme(name)) }

    private static func scheme(_ name: String) throws(GatewayError) -> String {
        let scheme = name.lowercased()
        guard knownSchemes.contains(scheme) else {
            throw GatewayError(
                .invalid, "An authentication scheme is one of \(knownSchemes.joined(separator: ", ")).")
        }
        return scheme
    }

    mutating func apply(_ declared: Declaration.Authentication?) throws(GatewayError) {
        guard let allow = declared?.allow else { return }
        var allowed: Set<String> = []
        for name in allow { allowed.insert(try Self.scheme(name)) }
        schemes = allowed
    }

    var declaredSchemes: Declaration.Authentication { Declaration.Authentication(allow: schemes.sorted()) }
}
