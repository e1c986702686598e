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
    var hasBothInputsEnded: Bool { ended.count == 2 }
    var isComplete: Bool { ended.count == 2 && closed.count == 2 }
}

extension TunnelEnds.Side {
    var other: Self { self == .client ? .origin : .client }
}
