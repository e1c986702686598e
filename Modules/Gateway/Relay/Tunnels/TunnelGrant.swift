internal import SallyportCore

/// What a tunnel was opened for: enough to ask the policy again.
struct TunnelGrant {
    let certificateDER: [UInt8]
    let target: Endpoint
    let instance: String
    /// The address that was dialled.
    let address: IPAddress

    /// Whether a tunnel as it stands would be opened today.
    func holds(under verdict: RelayVerdict, check: AddressCheck) -> Bool {
        guard case .allowed(_, let required, let mayBeLocal) = verdict else { return false }
        guard required == nil || required == address else { return false }
        return mayBeLocal || check.permits(address, port: target.port)
    }
}

/// Which of a tunnel's two directions came to their end, and how far.
struct TunnelEnds {
    enum Side: Sendable { case client, origin }

    private var ended: Set<Side> = []
    private var closed: Set<Side> = []

    /// Notes that a side sends nothing more; false if that was known.
    mutating func inputEnded(at side: Side) -> Bool { ended.insert(side).inserted }

    /// Notes that a side was told so of the other, behind everything else.
    mutating func outputClosed(at side: Side) { closed.insert(side) }

    func isOutputClosed(at side: Side) -> Bool { closed.contains(side) }
    var isComplete: Bool { ended.count == 2 && closed.count == 2 }
}

extension TunnelEnds.Side {
    var other: Self { self == .client ? .origin : .client }
}
