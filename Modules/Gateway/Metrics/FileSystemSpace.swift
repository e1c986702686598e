internal import Glibc

/// The space that is left to this process in a file system.
enum FileSystemSpace {
    /// In bytes; nil if the path is not there.
    static func free(at path: String) -> Int? {
        var figures = statvfs()
        guard statvfs(path, &figures) == 0 else { return nil }
        return Int(figures.f_bavail) * Int(figures.f_frsize)
    }
}
