public import SallyportCore
internal import SallyportLoading

extension Proxy {
    /// The authorities that may issue the proxy's certificate, if the connection to it uses TLS. Independent of
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
        // The other two are for the gateway; an app cannot create them.
        case .system, .gateway, .unverified: .system
        }
    }
}
