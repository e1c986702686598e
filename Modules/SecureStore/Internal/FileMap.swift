internal import Glibc

/// The memory into which a data file is mapped, as the kernel lists it: LMDB does not report the address.
struct FileMap: Sendable, Equatable {
    /// The address of the file's first byte.
    let start: UInt
    /// In bytes; the file may be shorter.
    let length: Int

    private static let source = "/proc/self/maps"
    private static let sourceLimit = 64 << 20

    /// Finds the one mapping of an open file, as proc_pid_maps(5) lists it.
    ///
    /// - Parameters:
    ///   - path: The file's path. Some layered file systems give another device or inode number here than stat(2) does.
    ///   - length: The length of the mapping in bytes.
    /// - Throws: ``StoreError/Code/fileSystem`` if /proc does not list the mapping.
    static func find(_ descriptor: Int32, path: String, length: Int) throws(StoreError) -> FileMap {
        var info = stat()
        guard unsafe fstat(descriptor, &info) == 0 else { throw Files.failure("look at", path) }
        let page = sysconf(Int32(_SC_PAGESIZE))
        let whole = (length + page - 1) / page * page
        for line in try Files.read(source, upTo: sourceLimit).split(separator: UInt8(ascii: "\n")) {
            guard let entry = Entry(line), entry.isSharedFromStart, entry.length == whole else { continue }
            if entry.isOf(info) || entry.path == path { return FileMap(start: entry.start, length: length) }
        }
        throw StoreError(.fileSystem, "\(source) does not say where \(path) is mapped.")
    }

    /// `START-END PERMISSIONS OFFSET MAJOR:MINOR INODE PATH`, all numbers but the inode's in hexadecimal.
    struct Entry {
        let start: UInt
        let length: Int
        let isSharedFromStart: Bool
        let path: String
        private let device: (major: UInt32, minor: UInt32)
        private let inode: UInt64

        init?(_ line: ArraySlice<UInt8>) {
            let fields = String(decoding: line, as: UTF8.self)
                .split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
            guard fields.count == 6 else { return nil }
            let ends = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
            let numbers = fields[3].split(separator: ":").compactMap { UInt32($0, radix: 16) }
            guard ends.count == 2, ends[0] < ends[1], numbers.count == 2, let inode = UInt64(fields[4]) else {
                return nil
            }
            (start, length) = (ends[0], Int(ends[1] - ends[0]))
            isSharedFromStart = fields[1].hasSuffix("s") && UInt(fields[2], radix: 16) == 0
            device = (numbers[0], numbers[1])
            self.inode = inode
            path = String(fields[5].drop { $0 == " " })
        }

        func isOf(_ info: stat) -> Bool {
            inode == info.st_ino && device == Self.numbers(of: info.st_dev)
        }

        /// The major and minor number of a device, unpacked as glibc's makedev(3) packs them: Swift does not see its
        /// macros.
        private static func numbers(of device: dev_t) -> (major: UInt32, minor: UInt32) {
            let device = UInt64(device)
            let major = (device >> 8 & 0xfff) | (device >> 32 & 0xffff_f000)
            let minor = (device & 0xff) | (device >> 12 & 0xffff_ff00)
            return (UInt32(major), UInt32(minor))
        }
    }
}
