import Foundation
import Glibc

/// Paths that mean something else in each process: its descriptors (`/dev/stdin`, `/dev/fd/3`, bash's `<(…)`), its
/// other files of `/proc/self`, and its terminal.
enum ProcessPath {
    private static let places: Set<String> = ["/proc/self", "/proc/thread-self", "/dev/tty"]
    /// As many symbolic links as the system follows (path_resolution(7)).
    private static let linkLimit = 40

    /// Whether a path leads to such a place, directly or by symbolic links.
    static func contains(_ path: String) -> Bool { place(of: path) != nil }

    /// The descriptor of this process to which a path leads; nil for any other path.
    static func descriptor(of path: String) -> Int32? {
        guard let (_, rest) = place(of: path), rest.count == 2, rest[0] == "fd" else { return nil }
        return Int32(rest[1])
    }

    /// The place to which a path leads, and what is left of the path behind it.
    private static func place(of path: String) -> (name: String, rest: [String])? {
        let path = absolute(path)
        // The components that are still to be gone, the next one at the end.
        var rest = components(of: path)
        var place: [String] = []
        var links = 0
        while let component = rest.popLast() {
            if component == ".." {
                _ = place.popLast()
                continue
            }
            place.append(component)
            let name = "/" + place.joined(separator: "/")
            if places.contains(name) { return (name, rest.reversed()) }
            guard let target = Self.target(ofLink: name) else { continue }
            links += 1
            guard links <= linkLimit else { return nil }
            if isAbsolute(target) { place = [] } else { place.removeLast() }
            rest += components(of: target)
        }
        return nil
    }

    /// By bytes, as the system divides paths: to `String`, a slash and a combining mark behind it are one character.
    static func isAbsolute(_ path: String) -> Bool { path.utf8.first == UInt8(ascii: "/") }

    /// A path by which a program finds the file from any folder.
    static func absolute(_ path: String) -> String {
        isAbsolute(path) ? path : DirectoryPath.appending(path, to: FileManager.default.currentDirectoryPath)
    }

    private static func components(of path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }.filter { $0 != "." }.reversed()
    }

    /// Nil for what is no symbolic link.
    private static func target(ofLink path: String) -> String? {
        // No target is longer than a path may be.
        var bytes = [CChar](repeating: 0, count: 4096)
        let count = readlink(path, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }
}
