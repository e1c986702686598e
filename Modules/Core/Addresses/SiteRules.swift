/// Says which hosts belong to one site: those under the same registered domain (https://publicsuffix.org).
///
/// The module Cookies has the list of public suffixes. Through this protocol, modules that do not import it can use the
/// list.
public protocol SiteRules: Sendable {
    /// Whether both hosts lie in one registered domain. An IP address is a site of its own, and so is a public suffix.
    func isSameSite(_ one: Host, _ other: Host) -> Bool
}
