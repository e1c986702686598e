/// The result of ``SecureStore/verify()``.
public struct VerificationReport: Sendable, Hashable {
    /// The most findings that are kept; ``omittedFindings`` counts the others.
    public static let maximumFindings = 1000

    /// In the order in which they were found; empty if the store is sound.
    public private(set) var findings: [StoreFinding] = []
    /// The number of findings beyond the first ``maximumFindings``.
    public private(set) var omittedFindings = 0
    /// The number of the snapshot's pages, including free ones.
    public internal(set) var pages = 0
    /// The number of pages that hold nothing and are used again.
    public internal(set) var freePages = 0
    /// The size of a page, in bytes.
    public internal(set) var pageSize = 0
    /// The number of records that could be decrypted, without the stores' own bookkeeping.
    public internal(set) var records = 0
    /// The number of collections that were checked, internal ones included.
    public internal(set) var collections = 0
    /// The number of the last commit in the snapshot.
    public internal(set) var transaction: UInt64 = 0

    /// Whether nothing was found.
    public var isSound: Bool { findings.isEmpty }

    /// Whether LMDB's own pages are sound, regardless of the records.
    public var isStructureSound: Bool { !findings.contains { $0.kind.isStructural } }

    mutating func add(_ finding: StoreFinding) {
        guard findings.count < Self.maximumFindings else { return omittedFindings += 1 }
        findings.append(finding)
    }

    /// Adds what a check of the records found.
    mutating func add(_ check: VerificationReport) {
        for finding in check.findings { add(finding) }
        omittedFindings += check.omittedFindings
        records += check.records
        collections += check.collections
    }
}

extension StoreFinding.Kind {
    var isStructural: Bool { self != .record && self != .collection }
}
