/// The check of a snapshot's pages: both trees and the free list, so that each page is either free or used once.
struct StructureCheck<Source: PageSource> {
    typealias Walk = PageWalk<Source>

    /// How many pages beyond the file's end the snapshot may name: pages that were freed before they were ever written.
    private static var unwrittenPages: Int { 1 << 20 }
    private static var namedLostPages: Int { 20 }

    let source: Source
    let snapshot: MetaPage

    /// Walks the snapshot; `body` receives each record whose pages are sound.
    ///
    /// - Throws: an error if the file cannot be read or the task was cancelled. Damage is reported.
    func run(_ body: (Walk.Entry, inout Walk) throws(StoreError) -> Void) throws(StoreError) -> VerificationReport {
        var report = VerificationReport()
        (report.pageSize, report.transaction) = (snapshot.pageSize, snapshot.transaction)
        let written = (source.length + snapshot.pageSize - 1) / snapshot.pageSize
        guard snapshot.lastPage < UInt64(written + Self.unwrittenPages) else {
            report.add(
                StoreFinding(
                    kind: .metaPage, message: "The snapshot ends at page \(snapshot.lastPage), the file at \(written).")
            )
            return report
        }
        let use = PageUse(pages: Int(snapshot.lastPage) + 1)
        report.pages = use.count
        var records = walk(.bytes, .tree, use, report)
        try records.run(snapshot.records, body)
        var free = walk(.littleEndianIntegers, .freeList, records.use, records.report)
        try free.run(snapshot.freeList) { entry, walk throws(StoreError) in try claim(entry, in: &walk) }
        report = free.report
        report.freePages = free.use.pages(used: .free)
        reportLostPages(free.use, in: &report)
        return report
    }

    private func walk(
        _ order: Walk.Order, _ kind: StoreFinding.Kind, _ use: PageUse, _ report: VerificationReport
    ) -> Walk {
        PageWalk(source, pageSize: snapshot.pageSize, order: order, kind: kind, use: use, report: report)
    }

    private func claim(_ entry: Walk.Entry, in walk: inout Walk) throws(StoreError) {
        guard let value = try walk.bytes(of: entry) else { return }
        guard let list = FreeListEntry(key: entry.key, value: value) else {
            return walk.add("Page \(entry.page) has a list of free pages that is not one.", page: entry.page)
        }
        guard list.transaction <= snapshot.transaction else {
            return walk.add("Pages were freed by transaction \(list.transaction), which was not yet.", page: entry.page)
        }
        for page in list.pages { _ = walk.claim(page, for: .free) }
    }

    private func reportLostPages(_ use: PageUse, in report: inout VerificationReport) {
        let lost = use.pages(used: .nothing)
        // If the trees could not be walked completely, their pages are lost too, which is reported already.
        guard lost > 0, report.isStructureSound else { return }
        let first = use.unclaimed(atMost: Self.namedLostPages).map { "\($0)" }.joined(separator: ", ")
        report.add(
            StoreFinding(
                kind: .lostPages, page: nil, message: "\(lost) pages are neither used nor free: \(first)."))
    }
}
