internal import Glibc

/// What the system says of a file (stat(2)).
///
/// For modules that import Foundation: CoreFoundation declares `stat` too, and which of the declarations one of their
/// files finds depends on what the compiler has loaded for other files.
package struct FileStatus: Sendable, Hashable {
    package enum Kind: Sendable {
        case directory, regular, socket, other
    }

    package let kind: Kind
    package let owner: UInt32
    /// With ``number``, names the file as long as it exists.
    package let device: UInt64
    package let number: UInt64

    /// Nil if there is no such file, or it cannot be looked at; `errno` says which.
    package init?(of path: String, followsLinks: Bool = true) {
        var info = stat()
        guard unsafe (followsLinks ? stat(path, &info) : lstat(path, &info)) == 0 else { return nil }
        self.init(info)
    }

    /// Nil if the descriptor is not open.
    package init?(of descriptor: Int32) {
        var info = stat()
        guard unsafe fstat(descriptor, &info) == 0 else { return nil }
        self.init(info)
    }

    private init(_ info: stat) {
        kind =
            switch info.st_mode & S_IFMT {
            case S_IFDIR: .directory
            case S_IFREG: .regular
            case S_IFSOCK: .socket
            default: .other
            }
        (owner, device, number) = (info.st_uid, UInt64(info.st_dev), UInt64(info.st_ino))
    }
}
