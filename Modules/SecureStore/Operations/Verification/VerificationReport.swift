/// What ``SecureStore/verify()`` found.
public struct VerificationReport: Sendable, Hashable {
    /// The most findings that are kept; ``omittedFindings`` counts the others.
    public static let maximumFindings = 1000

    /// In the order in which they were found; empty where the store is sound.
    public private(set) var findings: [StoreFinding] = []
    public private(set) var omittedFindings = 0
    /// Of the snapshot that was looked at, with those that are free.
    public internal(set) var pages = 0
    public internal(set) var freePages = 0
    /// Of a page, in bytes.
    public internal(set) var pageSize = 0
    /// Records that opened, without the stores' own bookkeeping.
    public internal(set) var records = 0
    public internal(set) var collections = 0
    /// The number of the last commit in the snapshot.
    public internal(set) var transaction: UInt64 = 0

    public var isSound: Bool { findings.isEmpty }

    /// Whether LMDB's own pages are as they should be, whatever the records are.
    public var isStructureSound: Bool { !findings.contains { $0.kind.isStructural } }

    mutating func add(_ finding: StoreFinding) {
        guard findings.count < Self.maximumFindings else { return omittedFindings += 1 }
        findings.append(finding)
    }
}

extension StoreFinding.Kind {
    var isStructural: Bool { self != .record && self != .collection }
}
