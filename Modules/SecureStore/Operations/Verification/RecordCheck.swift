/// The check of all records: each can be decrypted at its place, and each collection's count and sum match its records.
struct RecordCheck {
    private let ring: KeyRing
    /// In the tree's order, all records of a collection follow one another, and its sum is the first: of the
    /// collections that a file names, which may be millions, only one is at hand at a time.
    private var current: CollectionCheck?
    private var report = VerificationReport()

    init(ring: KeyRing) { self.ring = ring }

    /// Adds a record; the records come in the tree's order.
    ///
    /// - Throws: why the file of the keys cannot be read, if it may have the record's key: that is no damage.
    mutating func add(_ record: [UInt8], at place: [UInt8], page: UInt64) throws(StoreError) {
        guard place.count >= RecordCipher.identifierLength else {
            return report.add(
                StoreFinding(kind: .record, page: page, message: "Page \(page) has a record at no place of this store.")
            )
        }
        let identifier = Array(place.prefix(RecordCipher.identifierLength))
        if current?.identifier != identifier {
            current?.finish(&report)
            current = CollectionCheck(ring: ring, identifier: identifier)
        }
        try current?.add(record, at: place, page: page, to: &report)
    }

    /// Adds the figures and the findings.
    mutating func finish(_ report: inout VerificationReport) {
        current?.finish(&self.report)
        current = nil
        report.add(self.report)
    }
}

/// The check of one collection.
private struct CollectionCheck {
    private let cipher: RecordCipher
    private var counted = CollectionSummary()
    private var kept: CollectionSummary?
    private var name: String?
    private var isSummaryDamaged = false

    init(ring: KeyRing, identifier: [UInt8]) { cipher = ring.cipher(identifier: identifier) }

    var identifier: [UInt8] { cipher.identifier }

    mutating func add(
        _ record: [UInt8], at place: [UInt8], page: UInt64, to report: inout VerificationReport
    ) throws(StoreError) {
        guard place.count > RecordCipher.identifierLength else { return try addSummary(record) }
        do throws(StoreError) {
            // A record can be decrypted only at the place for which it was sealed.
            _ = try cipher.open(record, at: place)
            counted.added(record, at: place, key: cipher.sumKey)
        } catch {
            guard error.code == .damaged else { throw error }
            report.add(damagedRecord(on: page))
        }
    }

    private mutating func addSummary(_ record: [UInt8]) throws(StoreError) {
        do throws(StoreError) {
            let summary = try cipher.openSummary(record)
            kept = summary.sum
            name = summary.title
        } catch {
            guard error.code == .damaged else { throw error }
            isSummaryDamaged = true
        }
    }

    func finish(_ report: inout VerificationReport) {
        report.collections += 1
        report.records += counted.entries
        if let problem { report.add(StoreFinding(kind: .collection, collection: name, message: "\(title) \(problem)")) }
    }

    private var title: String { name.map { "Collection \($0)" } ?? "A collection whose name cannot be read" }

    private func damagedRecord(on page: UInt64) -> StoreFinding {
        StoreFinding(
            kind: .record, page: page, collection: name,
            message: "\(title): a record on page \(page) is not what was written.")
    }

    private var problem: String? {
        if isSummaryDamaged { return "has a count and sum that do not open." }
        guard let kept else { return "has records, and no count and sum." }
        if counted == kept { return nil }
        guard counted.entries == kept.entries else {
            return "has \(counted.entries) sound records where it should have \(kept.entries)."
        }
        return "has records older than, or other than, the last ones."
    }
}

extension RecordCheck {
    /// How many records are tried, so that one damaged record does not prevent opening the store.
    private static var samples: Int { 32 }

    /// Checks that a data file belongs to these keys: with the keys of another store, it would seem to be empty.
    ///
    /// - Throws: ``StoreError/Code/damaged``; why the file of the keys cannot be read, if it may have a record's key.
    static func checkAnyOpens(in environment: Environment, ring: KeyRing) throws(StoreError) {
        var tried = 0
        var isOpen = false
        do {
            try environment.read { tree in
                // No place is before this one.
                try unsafe tree.scan(from: [0]) { place, record throws(StoreError) in
                    tried += 1
                    isOpen = try unsafe opens(Array(record), at: Array(place), ring: ring)
                    return !isOpen && tried < samples
                }
            }
        } catch let error as StoreError {
            // A damaged tree is reported when it is read; its sound part stays readable.
            guard error.code == .damaged else { throw error }
            return
        } catch {
            throw StoreError(.internalFailure, "The store could not be read.", underlying: error)
        }
        guard isOpen || tried == 0 else {
            throw StoreError(.damaged, "The data file is of another store, or damaged: none of its records opens.")
        }
    }

    private static func opens(_ record: [UInt8], at place: [UInt8], ring: KeyRing) throws(StoreError) -> Bool {
        guard place.count >= RecordCipher.identifierLength else { return false }
        let cipher = ring.cipher(identifier: Array(place.prefix(RecordCipher.identifierLength)))
        do throws(StoreError) {
            if place.count > RecordCipher.identifierLength {
                _ = try cipher.open(record, at: place)
            } else {
                _ = try cipher.openSummary(record)
            }
            return true
        } catch {
            guard error.code == .damaged else { throw error }
            return false
        }
    }
}
