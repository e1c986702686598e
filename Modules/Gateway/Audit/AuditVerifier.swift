/// A row of a chain in a store.
struct AuditRow: Sendable, Hashable {
    /// The place that the store has it in.
    let number: Int64
    /// Nil if it cannot be read.
    let entry: AuditEntry?
}

/// An entry that something else vouches for: a checkpoint, or the chain's head in the store.
struct AuditMark: Sendable, Hashable {
    let head: AuditHead
    let origin: AuditReport.Origin
}

/// Verifies one chain, row by row in the order of their places. A value.
struct AuditVerifier: Sendable {
    /// The most faults that are told.
    static let faultLimit = 100

    let chain: AuditChainName
    /// The entry before the first that is kept.
    let start: AuditHead
    private let marks: [AuditMark]
    /// The hash is nil after a row that cannot be read.
    private var last: (number: Int64, hash: [UInt8]?)
    private(set) var faults: [AuditReport.Fault] = []

    /// - Parameters:
    ///   - start: as a checkpoint has signed it; empty for a chain that was never cut.
    ///   - marks: what the rows are compared with. A mark before the start is not compared.
    init(_ chain: AuditChainName, after start: AuditHead, marks: [AuditMark]) {
        (self.chain, self.start, self.marks) = (chain, start, marks)
        last = (start.number, start.hash)
        compare(start)
    }

    /// The greatest number that something vouches for: rows beyond it came after the verification began.
    var farthest: Int64 { marks.map(\.head.number).max() ?? 0 }

    /// The number of the last row so far.
    var position: Int64 { last.number }

    mutating func check(_ row: AuditRow) {
        if row.number != last.number + 1 { tell(.missing, last.number + 1, through: row.number - 1) }
        let isNext = row.number == last.number + 1
        guard let entry = row.entry else {
            tell(.unreadable, row.number)
            last = (row.number, nil)
            return
        }
        if entry.number != row.number || entry.chain != chain.text {
            tell(.misplaced, row.number)
        } else if entry.computedHash != entry.hash {
            tell(.changed, row.number)
        } else if isNext, let hash = last.hash, entry.previous != hash {
            tell(.unlinked, row.number)
        }
        last = (row.number, entry.hash)
        compare(AuditHead(number: row.number, hash: entry.hash))
    }

    /// Looks for what is missing at the end.
    mutating func end() {
        guard let mark = marks.filter({ $0.head.number > last.number }).max(by: { $0.head.number < $1.head.number })
        else { return }
        tell(.cut, last.number + 1, through: mark.head.number, by: mark.origin)
    }

    private mutating func compare(_ head: AuditHead) {
        for mark in marks where mark.head.number == head.number && mark.head.hash != head.hash {
            tell(.replaced, head.number, by: mark.origin)
        }
    }

    private mutating func tell(
        _ kind: AuditReport.Fault.Kind, _ number: Int64, through last: Int64? = nil,
        by origin: AuditReport.Origin? = nil
    ) {
        guard faults.count < Self.faultLimit else { return }
        faults.append(
            AuditReport.Fault(chain: chain.text, number: number, through: last ?? number, kind: kind, origin: origin))
    }
}
