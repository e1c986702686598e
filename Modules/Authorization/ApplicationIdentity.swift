internal import SallyportWire

/// The identity of an application: its entitlement id and version, as the administrator has registered them.
public struct ApplicationIdentity: Sendable, Hashable {
    let entitlement: EntitlementIdentifier
    let entitledVersion: EntitlementVersion

    /// - Parameters:
    ///   - id: A reversed domain name in lower case, `com.example.report`, at most 253 bytes.
    ///   - version: 1 to 4 dot-separated numbers of up to 3 digits without leading zeros. Entitlement needs an exact
    ///     match: `1.0` and `1.0.0.0` are two versions.
    /// - Throws: ``AuthorizationError/Code/invalidApplication``.
    public init(_ id: String, version: String) throws(AuthorizationError) {
        guard let entitlement = EntitlementIdentifier(id) else {
            throw AuthorizationError(.invalidApplication, "The entitlement id is not a reversed domain name.")
        }
        self.entitlement = entitlement
        entitledVersion = try Self.version(version)
    }

    static func version(_ text: String) throws(AuthorizationError) -> EntitlementVersion {
        guard let version = EntitlementVersion(text) else {
            throw AuthorizationError(.invalidApplication, "A version is 1 to 4 numbers of up to 3 digits.")
        }
        return version
    }

    public var id: String { entitlement.description }
    /// The version as it was given: 1 to 4 numbers of up to 3 digits, separated by dots.
    public var version: String { entitledVersion.description }
}
