/// How far the ends of a tunnel's two directions have progressed.
struct TunnelEnds {
    enum Side: Sendable { case client, origin }

    private var ended: Set<Side> = []
    private var closed: Set<Side> = []

    /// Records that a side has ended; false if that was known.
    mutating func inputEnded(at side: Side) -> Bool { ended.insert(side).inserted }

    /// Records that a side was informed of the other's end, after all bytes.
    mutating func outputClosed(at side: Side) { closed.insert(side) }

    func isOutputClosed(at side: Side) -> Bool { closed.contains(side) }
    var hasBothInputsEnded: Bool { ended.count == 2 }
    var isComplete: Bool { ended.count == 2 && closed.count == 2 }
}

extension TunnelEnds.Side {
    var other: Self { self == .client ? .origin : .client }
}
