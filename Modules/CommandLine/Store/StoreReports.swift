import SallyportSecureStore

/// What `store stat` prints.
struct StoreReport: Encodable, Sendable {
    struct Collection: Encodable, Sendable {
        let name: String
        /// Whether the file discloses the order of its keys.
        let ordered: Bool
        let records: Int
    }

    let collections: [Collection]
    let records: Int
    let expiring: Int
    /// Bytes.
    let fileSize: Int
    let usedSize: Int
    let lastCommit: UInt64
    let readers: Int
    let dataKeys: Int
    /// Whether it came from a backup and was not authorized since.
    let restored: Bool

    init(_ statistics: StoreStatistics, isRestored: Bool) {
        collections = statistics.collections.map {
            Collection(name: $0.name, ordered: $0.order == .ordered, records: $0.records)
        }
        records = statistics.records
        expiring = statistics.expiringRecords
        fileSize = statistics.fileSize
        usedSize = statistics.usedSize
        lastCommit = statistics.lastCommit
        readers = statistics.readers
        dataKeys = statistics.dataKeys
        restored = isRestored
    }

    var text: String {
        var table = Table(["records", "collection"])
        for collection in collections {
            table.append(["\(collection.records)", collection.name + (collection.ordered ? " (ordered)" : "")])
        }
        let keys = dataKeys == 1 ? "one data key" : "\(dataKeys) data keys: a rotation is under way"
        return """
            \(table.text)
            \(Count.of(records, "record")) in all, with Sallyport's own; \(expiring) with an expiry
            \(fileSize) bytes, \(usedSize) in use; \(Count.of(Int(lastCommit), "commit")); \(Count.of(readers, "reader")); \
            \(keys)
            """ + (restored ? "\nrestored from a backup" : "")
    }
}

/// What `store verify` prints.
struct CheckReport: Encodable, Sendable {
    struct Finding: Encodable, Sendable {
        let kind: String
        let page: UInt64?
        let collection: String?
        let message: String
    }

    let sound: Bool
    let findings: [Finding]
    /// The number of findings that are not listed.
    let omitted: Int
    let records: Int
    let collections: Int
    let pages: Int
    let freePages: Int

    init(_ report: VerificationReport) {
        sound = report.isSound
        findings = report.findings.map {
            Finding(kind: "\($0.kind)", page: $0.page, collection: $0.collection, message: $0.message)
        }
        omitted = report.omittedFindings
        records = report.records
        collections = report.collections
        pages = report.pages
        freePages = report.freePages
    }

    var text: String {
        let figures = """
            \(Count.of(records, "record")) in \(Count.of(collections, "collection")), \(Count.of(pages, "page")), \
            \(freePages) of them free
            """
        guard !sound else { return "sound: \(figures)" }
        let lines = findings.map { "\($0.kind): \(OneLine.of($0.message))" }
        let more = omitted > 0 ? ["and \(omitted) more \(omitted == 1 ? "finding" : "findings")"] : []
        return (lines + more + ["damaged: \(figures)"]).joined(separator: "\n")
    }
}

/// What `store backup` and `store restore` print.
struct CopyReport: Encodable, Sendable {
    let directory: String
    let records: Int
    let collections: Int

    init(_ directory: String, _ report: VerificationReport) {
        self.directory = directory
        records = report.records
        collections = report.collections
    }
}

/// What `store compact` prints, in bytes.
struct CompactionReport: Encodable, Sendable {
    let before: Int
    let after: Int
}
