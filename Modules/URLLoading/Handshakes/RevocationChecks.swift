public import SallyportCore
internal import SallyportTransport

/// What is asked about certificates of servers that were withdrawn before their end.
public struct RevocationChecks: Sendable, Hashable {
    /// What is asked of an OCSP answer (RFC 6960) that a server staples to its certificate (RFC 6066 §8).
    public enum Stapling: Sendable, Hashable {
        /// None is asked for, and one that is sent is not looked at.
        case ignored
        /// One that is sent must be good; one must be sent where the certificate says so (RFC 7633).
        case whenSent
        /// No server is trusted that sends none.
        case required
    }

    /// The rule for stapled OCSP responses. OCSP servers themselves are never asked: they would learn which servers the
    /// app uses, and need not be reachable.
    public var stapling = Stapling.whenSent
    private var lists: [[UInt8]] = []
    private var coversAuthorities = false
    private var allowsUnknown = false

    /// Checks that judge stapled answers if they are sent, and use no lists.
    public init() {}

    /// Certificates that a list names are refused (RFC 5280 §5). Replaces the lists that were given before.
    ///
    /// - Parameters:
    ///   - path: a file of lists in PEM, at most 64 MiB; fetched and kept up to date by the app.
    ///   - authorities: whether the certificates of authorities in a chain must be covered too.
    ///   - unknown: whether a certificate is taken where its authority has no list in the file that is in force.
    /// - Throws: `fileSystem` if the file cannot be read or holds no list.
    public mutating func useLists(
        pemFile path: String, coveringAuthorities authorities: Bool = false, allowingUnknown unknown: Bool = false
    ) throws(LoadError) {
        lists = try PEMFile.blocks("X509 CRL", at: path, limit: 64 << 20)
        coversAuthorities = authorities
        allowsUnknown = unknown
    }

    var rules: RevocationRules {
        var rules = RevocationRules()
        rules.lists = lists
        rules.coversAuthorities = coversAuthorities
        rules.allowsUnknown = allowsUnknown
        rules.stapling =
            switch stapling {
            case .ignored: .ignored
            case .whenSent: .whenSent
            case .required: .required
            }
        return rules
    }
}
