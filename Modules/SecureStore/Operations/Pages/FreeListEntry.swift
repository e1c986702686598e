/// One entry of the list of free pages: the pages that one transaction freed (`MDB_IDL`).
struct FreeListEntry: Sendable {
    let transaction: UInt64
    let pages: [UInt64]

    /// Nil if the count, the order or the length is not as LMDB writes it.
    init?(key: [UInt8], value: [UInt8]) {
        guard key.count == 8, let transaction = key.littleEndian(UInt64.self, at: 0), value.count & 7 == 0,
            let count = value.littleEndian(UInt64.self, at: 0), count < UInt64(value.count / 8)
        else { return nil }
        self.transaction = transaction
        pages = (0..<Int(count)).map { value.littleEndian(UInt64.self, at: 8 + 8 * $0) ?? PageLayout.noPage }
        guard zip(pages, pages.dropFirst()).allSatisfy({ $0 > $1 }) else { return nil }
    }
}
