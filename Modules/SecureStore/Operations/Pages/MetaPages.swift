/// Both meta pages of a file, which determine the newest snapshot.
///
/// Each commit has the next number and goes to the page of its parity, so the two numbers are adjacent; before the
/// first commit both are 0. A flipped bit in the older number could make that page the newest, and LMDB would go back
/// to it; this check detects that.
struct MetaPages: Hashable, Sendable {
    let newest: MetaPage
    let older: MetaPage
    /// The bytes that LMDB reads from both pages, to recognise them again.
    let bytes: [UInt8]

    init(_ source: some PageSource) throws(CheckFailure) {
        let first = try Self.bytes(of: source, at: 0)
        let zero = try Self.parse(first, number: 0)
        let second = try Self.bytes(of: source, at: zero.pageSize)
        let one = try Self.parse(second, number: 1)
        try self.init(zero, one, bytes: first + second)
    }

    init(_ zero: MetaPage, _ one: MetaPage, bytes: [UInt8]) throws(CheckFailure) {
        guard zero.pageSize == one.pageSize else {
            throw .fault(PageFault(.metaPage, page: 1, "names another page size than the first"))
        }
        let isFirst = zero.transaction > one.transaction
        (newest, older) = isFirst ? (zero, one) : (one, zero)
        self.bytes = bytes
        guard newest.transaction != 0 || older.transaction != 0 else { return }
        guard newest.transaction & 1 == (isFirst ? 0 : 1), newest.transaction &- older.transaction == 1 else {
            throw .fault(
                PageFault(
                    .metaPage, page: isFirst ? 0 : 1,
                    "has transaction \(newest.transaction), the other \(older.transaction)"))
        }
    }

    private static func bytes(of source: some PageSource, at offset: Int) throws(CheckFailure) -> [UInt8] {
        do throws(StoreError) {
            return try source.bytes(at: offset, count: MetaPage.length)
        } catch {
            throw .store(error)
        }
    }

    private static func parse(_ bytes: [UInt8], number: UInt64) throws(CheckFailure) -> MetaPage {
        do throws(PageFault) {
            return try MetaPage(bytes, number: number)
        } catch {
            throw .fault(error)
        }
    }
}
