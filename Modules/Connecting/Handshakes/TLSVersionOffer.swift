internal import SallyportCore

/// The order in which versions are offered: TLS 1.2 and 1.3 first, and lower ones only after a handshake with those
/// failed.
struct TLSVersionOffer: Sendable, Hashable {
    let first: TLSVersions
    /// What is offered in the second handshake; nil if there is none.
    let fallback: TLSVersions?

    init(_ allowed: TLSVersions, fallsBack: Bool = true) {
        let standard = allowed.intersection(.standard)
        let lower = allowed.subtracting(.standard)
        first = standard.isEmpty ? lower : standard
        fallback = !fallsBack || standard.isEmpty || lower.isEmpty ? nil : lower
    }
}

/// What one handshake offers.
struct TLSVersionStep: Sendable, Hashable {
    var versions: TLSVersions
    /// Lower versions are offered because a handshake with higher ones failed; the server is told so (RFC 7507).
    var isFallback = false
    /// What is offered if this handshake fails; nil if nothing is.
    var next: TLSVersions?
}
