internal import Glibc

/// Constants of LMDB 0.9's file format on 64-bit machines (`mdb.c`, `MDB_page`, `MDB_node`, `MDB_db`).
///
/// The format depends on the machine: native byte order and page size. It is read as little-endian, the byte order of
/// all platforms of this package.
enum PageLayout {
    static let headerLength = 16
    static let nodeHeaderLength = 8
    /// Pages 0 and 1.
    static let metaPages = 2
    static let magic: UInt32 = 0xBEEF_C0DE
    static let version: UInt32 = 1
    /// `P_INVALID`: the root of an empty tree.
    static let noPage = UInt64.max
    /// `CURSOR_STACK`: no tree is deeper.
    static let maximumDepth = 32
    static let maximumKeyLength = 511

    enum Flag {
        static let branch: UInt16 = 0x01
        static let leaf: UInt16 = 0x02
        static let overflow: UInt16 = 0x04
        static let meta: UInt16 = 0x08
    }

    /// `F_BIGDATA`: the node names the first overflow page of its value.
    static let nodeIsOverflow: UInt16 = 0x01

    static func isPageSize(_ size: Int) -> Bool { (512...32768).contains(size) && size & (size - 1) == 0 }

    /// How many pages a value of this length takes outside the tree.
    static func overflowPages(for length: Int, pageSize: Int) -> UInt64 {
        UInt64((headerLength - 1 + length) / pageSize + 1)
    }
}

extension [UInt8] {
    /// As LMDB compares keys (`mdb_cmp_memn`).
    func precedes(_ other: [UInt8]) -> Bool {
        let order = unsafe withUnsafeBytes { left in
            unsafe other.withUnsafeBytes { right in
                guard let left = left.baseAddress, let right = right.baseAddress else { return Int32(0) }
                return unsafe memcmp(left, right, Swift.min(count, other.count))
            }
        }
        return order < 0 || (order == 0 && count < other.count)
    }

    /// A little-endian number; nil if there are not enough bytes.
    func littleEndian<Number: FixedWidthInteger & BitwiseCopyable>(_ type: Number.Type, at offset: Int) -> Number? {
        guard offset >= 0, offset <= count - MemoryLayout<Number>.size else { return nil }
        return unsafe withUnsafeBytes {
            unsafe Number(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: Number.self))
        }
    }
}
