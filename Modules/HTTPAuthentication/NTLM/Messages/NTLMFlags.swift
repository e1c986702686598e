/// The negotiated flags (MS-NLMP §2.2.2.5), as far as they matter here.
package struct NTLMFlags: OptionSet, Sendable, Hashable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    static let unicode = NTLMFlags(rawValue: 1 << 0)
    static let requestTarget = NTLMFlags(rawValue: 1 << 2)
    static let ntlm = NTLMFlags(rawValue: 1 << 9)
    static let alwaysSign = NTLMFlags(rawValue: 1 << 15)
    static let extendedSessionSecurity = NTLMFlags(rawValue: 1 << 19)
    static let targetInfo = NTLMFlags(rawValue: 1 << 23)
    static let version = NTLMFlags(rawValue: 1 << 25)

    /// The requested flags. Neither signing nor sealing, which HTTP cannot transport, and so no key exchange; only
    /// Unicode names, and no key from the LM hash.
    static let offered: NTLMFlags = [.unicode, .requestTarget, .ntlm, .alwaysSign, .extendedSessionSecurity]
}
