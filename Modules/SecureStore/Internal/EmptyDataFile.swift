internal import Glibc

/// The two meta pages of an empty data file, as LMDB makes them (`mdb_env_init_meta`).
///
/// The store writes them itself, so that a data file exists completely or not at all: LMDB does not sync them.
enum EmptyDataFile {
    private static let integerKeys: UInt16 = 0x08

    static func bytes(mapSize: Int) -> [UInt8] {
        let pageSize = min(sysconf(Int32(_SC_PAGESIZE)), 32768)
        return (0..<PageLayout.metaPages).flatMap { meta(UInt64($0), pageSize: pageSize, mapSize: UInt64(mapSize)) }
    }

    private static func meta(_ number: UInt64, pageSize: Int, mapSize: UInt64) -> [UInt8] {
        var page = number.bytes + UInt16(0).bytes + PageLayout.Flag.meta.bytes + UInt32(0).bytes
        page += PageLayout.magic.bytes + PageLayout.version.bytes + UInt64(0).bytes + mapSize.bytes
        page += tree(padding: UInt32(pageSize), flags: integerKeys) + tree(padding: 0, flags: 0)
        page += UInt64(PageLayout.metaPages - 1).bytes + UInt64(0).bytes
        return page + [UInt8](repeating: 0, count: pageSize - page.count)
    }

    private static func tree(padding: UInt32, flags: UInt16) -> [UInt8] {
        let counts = [UInt8](repeating: 0, count: TreeDescription.length - 16)
        return padding.bytes + flags.bytes + UInt16(0).bytes + counts + PageLayout.noPage.bytes
    }
}

extension FixedWidthInteger where Self: BitwiseCopyable {
    /// Little-endian.
    fileprivate var bytes: [UInt8] { unsafe withUnsafeBytes(of: littleEndian) { unsafe Array($0) } }
}
