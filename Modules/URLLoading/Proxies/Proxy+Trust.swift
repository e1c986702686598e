public import SallyportCore
internal import SallyportLoading

extension Proxy {
    /// Who may have issued the proxy's certificate, where TLS is spoken with it: its own matter, apart from
    /// ``SessionConfiguration/trust``.
    public var trust: ServerTrust {
        get {
            switch anchors {
            case .system: .system
            case .only(let certificates): .only(certificates)
            case .systemAnd(let certificates): .systemAnd(certificates)
            }
        }
        set { anchors = newValue.proxyAnchors }
    }
}

extension ServerTrust {
    fileprivate var proxyAnchors: Proxy.Anchors {
        switch anchors {
        case .only(let certificates): .only(certificates)
        case .systemAnd(let certificates): .systemAnd(certificates)
        // The other two are for the gateway, and no app can say them.
        case .system, .gateway, .unverified: .system
        }
    }
}
