/// The position of an entry in an ordered collection's index: a number between those of its neighbours.
///
/// Reveals nothing about the key except its order. If no number is left between two neighbours, the following entries
/// are moved (P. Dietz, D. Sleator: Two algorithms for maintaining order in a list, 1987, in its simplest form).
struct OrderLabel: Hashable, Comparable, Sendable {
    /// In bytes.
    static let length = 16
    /// The distance between entries that are added at either end.
    static let step: UInt128 = 1 << 64
    /// The least distance between moved entries, which leaves room for many insertions before they are moved again.
    static let leastStep: UInt128 = 1 << 32
    static let least = OrderLabel(number: 0)
    static let greatest = OrderLabel(number: .max)

    let number: UInt128

    init(number: UInt128) { self.number = number }

    init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.length else { return nil }
        number = bytes.reduce(0) { $0 << 8 | UInt128($1) }
    }

    var bytes: [UInt8] { (0..<Self.length).map { UInt8(truncatingIfNeeded: number >> (120 - 8 * UInt128($0))) } }

    static func < (left: OrderLabel, right: OrderLabel) -> Bool { left.number < right.number }

    /// The next label; nil after the greatest.
    var next: OrderLabel? { number == .max ? nil : OrderLabel(number: number + 1) }

    var previous: OrderLabel? { number == 0 ? nil : OrderLabel(number: number - 1) }

    /// A label between two neighbours, either of which may be missing; nil if there is no room.
    static func between(_ lower: OrderLabel?, _ upper: OrderLabel?) -> OrderLabel? {
        switch (lower?.number, upper?.number) {
        case (nil, nil): return OrderLabel(number: 1 << 127)
        case (let lower?, nil): return lower > .max - step ? nil : OrderLabel(number: lower + step)
        case (nil, let upper?): return upper < step ? nil : OrderLabel(number: upper - step)
        case (let lower?, let upper?):
            precondition(lower < upper, "Neighbours are in order.")
            return upper - lower < 2 ? nil : OrderLabel(number: lower + (upper - lower) / 2)
        }
    }

    /// `count` labels in order, evenly between two; nil if they would be closer than ``leastStep``.
    static func spread(_ count: Int, between lower: OrderLabel, and upper: OrderLabel) -> [OrderLabel]? {
        let distance = min(step, (upper.number - lower.number) / UInt128(count + 1))
        guard distance >= leastStep else { return nil }
        return (1...UInt128(count)).map { OrderLabel(number: lower.number + distance * $0) }
    }

    /// `count` labels in order, around the middle of the range.
    static func spread(_ count: Int) -> [OrderLabel] {
        let start = (1 << 127) - UInt128(count / 2) * step
        return (0..<UInt128(count)).map { OrderLabel(number: start + $0 * step) }
    }
}
