/// Says which hosts belong together: those whose names somebody registered as one (https://publicsuffix.org).
///
/// The module Cookies has the list of public suffixes, and this protocol lends it to modules that do without cookies.
public protocol SiteRules: Sendable {
    /// Whether both hosts lie in one registered domain. An address, and a public suffix, is a site of its own.
    func isSameSite(_ one: Host, _ other: Host) -> Bool
}
