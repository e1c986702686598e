internal import SallyportCore
internal import SallyportLoading

extension TunnelLink {
    /// Of the innermost TLS; nil if there is none.
    var tlsFacts: TLSFacts? { unsafe tls.flatMap { unsafe TLSFacts($0) } }

    /// Of the innermost TLS.
    var channelBinding: ChannelBinding? { unsafe tls.flatMap { unsafe ChannelBinding(connection: $0) } }

    var certificateRefusal: LoadError? { HandshakeRecord.certificateRefusal(in: handshakes) }
}
