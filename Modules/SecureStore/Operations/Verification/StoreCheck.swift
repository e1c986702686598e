/// The check of a whole store: its pages, then its records, read from the file and never through LMDB's map.
enum StoreCheck {
    /// Receives every record whose pages are sound, in the order of the tree, and the number of bytes of all its pages.
    typealias Sink = (_ place: [UInt8], _ record: [UInt8], _ bytes: Int) throws(StoreError) -> Void

    /// How often the meta pages are read again if a writer changed them meanwhile.
    private static let attempts = 100

    /// Checks the newest snapshot of a file that is not being written. Without a ring, only the pages are checked.
    static func run(_ source: some PageSource, ring: KeyRing?) throws(StoreError) -> VerificationReport {
        do throws(CheckFailure) {
            return try run(source, ring: ring, snapshot: MetaPages(source).newest)
        } catch {
            return try report(of: error)
        }
    }

    /// Checks the meta pages only; a writer may change them meanwhile.
    static func metaPages(of source: some PageSource) throws(StoreError) -> VerificationReport {
        var failure = CheckFailure.moved
        for _ in 0..<attempts {
            do throws(CheckFailure) {
                let snapshot = try MetaPages(source).newest
                var report = VerificationReport()
                (report.pageSize, report.pages) = (snapshot.pageSize, Int(clamping: snapshot.lastPage) + 1)
                report.transaction = snapshot.transaction
                return report
            } catch {
                failure = error
            }
        }
        return try report(of: failure)
    }

    /// Checks the newest snapshot of an open store, while its writer continues.
    ///
    /// - Throws: ``StoreError/Code/cancelled``, ``StoreError/Code/closed`` if the store is closed meanwhile, and errors
    ///   of reading the file.
    static func run(
        _ environment: Environment, path: String, ring: KeyRing?, sink: Sink? = nil
    ) throws(StoreError) -> VerificationReport {
        var failure = CheckFailure.moved
        for _ in 0..<attempts {
            do throws(CheckFailure) {
                return try attempt(environment, path: path, ring: ring, sink: sink)
            } catch {
                if case .store(let error) = error { throw error }
                failure = error
            }
        }
        return try report(of: failure)
    }

    /// A writer that commits twice between pinning the snapshot and reading the meta pages makes an attempt fail.
    private static func attempt(
        _ environment: Environment, path: String, ring: KeyRing?, sink: Sink?
    ) throws(CheckFailure) -> VerificationReport {
        let outcome: Result<VerificationReport, CheckFailure>
        do throws(StoreError) {
            outcome = try environment.withSnapshot { transaction, isClosing throws(StoreError) in
                let file = try PageFile(path) { Task.isCancelled || isClosing() }
                // Nothing keeps the pages of a file that has just taken the place of the mapped one.
                try environment.checkIsMapped(file.identity)
                do throws(CheckFailure) {
                    let pages = try MetaPages(file)
                    guard let snapshot = [pages.newest, pages.older].first(where: { $0.transaction == transaction })
                    else { return .failure(.moved) }
                    return .success(try run(file, ring: ring, snapshot: snapshot, sink: sink))
                } catch {
                    return .failure(error)
                }
            }
        } catch {
            throw .store(error)
        }
        return try outcome.get()
    }

    private static func run(
        _ source: some PageSource, ring: KeyRing?, snapshot: MetaPage, sink: Sink? = nil
    ) throws(CheckFailure) -> VerificationReport {
        do throws(StoreError) {
            let structure = StructureCheck(source: source, snapshot: snapshot)
            guard let ring else { return try structure.run { _, _ throws(StoreError) in } }
            var records = RecordCheck(ring: ring)
            var report = try structure.run { entry, walk throws(StoreError) in
                guard let record = try walk.bytes(of: entry) else { return }
                try records.add(record, at: entry.key, page: entry.page)
                try sink?(entry.key, record, walk.use.count * snapshot.pageSize)
            }
            records.finish(&report)
            return report
        } catch {
            throw .store(error)
        }
    }

    private static func report(of failure: CheckFailure) throws(StoreError) -> VerificationReport {
        switch failure {
        case .store(let error): throw error
        case .moved: throw StoreError(.inUse, "The store changes faster than its first pages can be read.")
        case .fault(let fault):
            var report = VerificationReport()
            report.add(fault.finding)
            return report
        }
    }
}
