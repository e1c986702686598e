internal import Glibc
internal import SallyportBase
internal import SallyportCore

/// Where the hidden files of a download lie: beside its target, with a dot before its name and an end of their own.
enum HiddenPath {
    /// The longest name of a target that hidden files repeat, in bytes. File systems allow 255, of which the files need
    /// at most 45 more: for the dot, the number of a name that was cut, and an end such as
    /// `.0123456789abcdef.part.mode`.
    static let longestName = 200

    /// The path of each hidden file, up to the end of its own.
    ///
    /// - Throws: `fileSystem` if the target is a directory, or has a longer name than its file system allows.
    static func base(for target: String) throws(LoadError) -> String {
        var status = stat()
        let result = unsafe stat(target, &status) == 0 ? 0 : errno
        let isDirectory = result == 0 && status.st_mode & S_IFMT == S_IFDIR
        let parts = PathParts(target)
        guard result != ENAMETOOLONG, !isDirectory, !parts.name.isEmpty else {
            let reason = result == ENAMETOOLONG ? result : EISDIR
            throw DownloadFile.failure("\(target) is not a file that can be written", reason)
        }
        return "\(parts.directory)/.\(shortened(parts.name))"
    }

    /// Cuts a name that is too long between two characters. A number keeps it apart from other names that begin as it
    /// does.
    static func shortened(_ name: Substring) -> String {
        guard name.utf8.count > longestName else { return String(name) }
        var end = name.utf8.index(name.startIndex, offsetBy: longestName)
        // The bytes of a character after its first one begin with the bits 10.
        while name.utf8[end] & 0xc0 == 0x80 { end = name.utf8.index(before: end) }
        return "\(name[..<end]).\(String(TextNumber.of(name), radix: 16))"
    }
}
