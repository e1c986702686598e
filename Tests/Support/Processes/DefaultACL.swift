internal import CLinux
internal import Glibc

/// A default ACL of a directory, from which new files in it get their mode, whatever the umask is.
package enum DefaultACL {
    /// What a file that is created with 0666 gets by this ACL.
    package static let mode: UInt32 = 0o660

    /// Whether the file system of temporary directories has ACLs.
    package static var isSupported: Bool {
        guard let folder = try? TemporaryDirectory() else { return true }
        return set(on: folder.path) != ENOTSUP
    }

    /// Gives a directory the ACL.
    package static func add(to directory: String) throws {
        let code = set(on: directory)
        guard code == 0 else { throw Unexpected("setxattr failed with \(code)") }
    }

    /// 0, or the number of the error.
    private static func set(on directory: String) -> Int32 {
        setxattr(directory, "system.posix_acl_default", attribute, attribute.count, 0) == 0 ? 0 : errno
    }

    /// As the kernel has it (`linux/posix_acl_xattr.h`), with little-endian numbers: version 2, then the entries of the
    /// owner, the group and others, each with a tag, rights, and an identifier that these tags do not have.
    private static let attribute: [UInt8] =
        [2, 0, 0, 0] + entry(tag: 0x01, rights: 6) + entry(tag: 0x04, rights: 6) + entry(tag: 0x20, rights: 0)

    private static func entry(tag: UInt8, rights: UInt8) -> [UInt8] { [tag, 0, rights, 0, 255, 255, 255, 255] }
}
