internal import FoundationEssentials
internal import Glibc
internal import SallyportCore

/// The files that a resumable download leaves beside its target: the bytes in `.NAME.partial`, and their description in
/// `.NAME.resume`, which never covers a byte that is not yet on the disk. Only the process's user can reach them. A
/// long name is cut in theirs (``HiddenPath``).
struct PartialFile: ~Copyable {
    /// The greatest number of bytes that a crash loses.
    static let checkpoint: Int64 = 32 << 20
    /// The longest description that is read, in bytes.
    private static let recordLimit = 64 << 10

    private let descriptor: Int32
    private let partPath: String
    private let recordPath: String
    private let path: String
    private(set) var record: Resumption?
    private(set) var length: Int64

    /// Opens the files of an earlier download, or starts again.
    ///
    /// - Throws: `fileSystem` if the file cannot be created, if another download is writing it, or if another user may
    ///   have changed what is there (``OwnFile``).
    static func open(for path: String) throws(LoadError) -> PartialFile {
        let base = try HiddenPath.base(for: path)
        let descriptor = try openLocked("\(base).partial", for: path)
        var file = PartialFile(
            descriptor: descriptor, partPath: "\(base).partial", recordPath: "\(base).resume", path: path)
        let record = try OwnFile.read(file.recordPath, upTo: recordLimit).flatMap {
            try? JSONDecoder().decode(Resumption.self, from: Data($0))
        }
        try file.restore(record)
        return file
    }

    /// Opens the file until what is locked is what its name leads to: between the two, another process may have given
    /// the file its target's name, and what it holds is complete.
    private static func openLocked(_ partPath: String, for path: String) throws(LoadError) -> Int32 {
        while true {
            let descriptor = try OwnFile.openOrMake(partPath)
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                Glibc.close(descriptor)
                throw LoadError(.fileSystem, "Another download writes \(path).")
            }
            if isNamed(descriptor, partPath) { return descriptor }
            Glibc.close(descriptor)
        }
    }

    private static func isNamed(_ descriptor: Int32, _ path: String) -> Bool {
        var opened = stat()
        var named = stat()
        guard unsafe fstat(descriptor, &opened) == 0, unsafe lstat(path, &named) == 0 else { return false }
        return opened.st_dev == named.st_dev && opened.st_ino == named.st_ino
    }

    private init(descriptor: Int32, partPath: String, recordPath: String, path: String) {
        (self.descriptor, self.partPath, self.recordPath, self.path) = (descriptor, partPath, recordPath, path)
        (record, length) = (nil, 0)
    }

    /// Keeps only the bytes that the record covers.
    private mutating func restore(_ record: Resumption?) throws(LoadError) {
        var status = stat()
        guard let record, record.length > 0, unsafe fstat(descriptor, &status) == 0, status.st_size >= record.length
        else { return try restart(as: nil) }
        try restart(as: record, length: record.length)
    }

    deinit { Glibc.close(descriptor) }

    /// Starts again, with an answer that can be resumed or not.
    mutating func restart(as record: Resumption?, length: Int64 = 0) throws(LoadError) {
        guard ftruncate(descriptor, Int(length)) == 0, lseek(descriptor, Int(length), SEEK_SET) == length else {
            throw DownloadFile.failure("What is downloaded to \(path) cannot be written", errno)
        }
        if length == 0 { unsafe unlink(recordPath) }
        self.record = record
        self.length = length
    }

    /// Records what an answer says of the whole.
    mutating func update(_ record: Resumption) { self.record = record }

    mutating func write(_ bytes: [UInt8]) throws(LoadError) {
        try DownloadFile.write(bytes, to: descriptor, for: path)
        length += Int64(bytes.count)
    }

    /// Whether enough bytes have come since the last checkpoint.
    var isDue: Bool { record.map { length - $0.length >= Self.checkpoint } ?? false }

    /// Makes the received bytes durable and updates the record; removes both if the download cannot be resumed.
    mutating func keep() async throws(LoadError) {
        guard var record else {
            unsafe unlink(partPath)
            return
        }
        record.length = length
        self.record = record
        guard let content = try? JSONEncoder().encode(record) else { return }
        let (descriptor, recordPath, path) = (descriptor, recordPath, path)
        let code = await FileThread.run { () -> Int32 in
            guard fsync(descriptor) == 0 else { return errno }
            return OwnFile.replace(recordPath, with: Array(content))
        }
        guard code == 0 else { throw DownloadFile.failure("What came of \(path) cannot be kept", code) }
    }

    /// Syncs the file and gives it its name. Returns when both are durable.
    ///
    /// - Parameter umask: see ``TargetMode/apply(to:_:replacing:umask:)``.
    consuming func commit(umask: mode_t?) async throws(LoadError) {
        let (descriptor, partPath, recordPath, path) = (descriptor, partPath, recordPath, path)
        let code = await FileThread.run { () -> Int32 in
            // Without its record, the file is never resumed under another name.
            unsafe unlink(recordPath)
            return DownloadFile.publish(descriptor, partPath, as: path, umask: umask)
        }
        guard code == 0 else { throw DownloadFile.failure("\(path) cannot be completed", code) }
    }

    /// Removes the files of an earlier download.
    static func remove(for path: String) throws(LoadError) {
        let base = try HiddenPath.base(for: path)
        for suffix in ["resume", "resume.new", "partial"] { unsafe unlink("\(base).\(suffix)") }
    }
}
