internal import SallyportBase
internal import SallyportCore
package import SallyportTransport

/// With which TLS versions the servers of a connector were reached, by any of its sessions.
///
/// A lock guards it, because the transport tells of handshakes in callbacks of libcurl, which cannot await.
package struct TLSVersionNotes: Sendable {
    private let history: Lock<TLSVersionHistory>

    package init(_ control: ControlTLSVersions = ControlTLSVersions()) {
        history = Lock(TLSVersionHistory(control))
    }

    package func note(_ agreed: AgreedVersion) {
        history.withLock { $0.note(agreed, at: .now) }
    }

    /// What to offer a server next.
    func step(_ offer: TLSVersionOffer, to endpoint: Endpoint) -> TLSVersionStep {
        history.withLock { $0.step(offer, to: endpoint, at: .now) }
    }
}
