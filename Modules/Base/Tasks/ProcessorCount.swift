internal import Glibc

/// How many processors the process may keep busy: those of its CPU set, or fewer if its cgroup gives it less of their
/// time, as container runtimes and systemd's `CPUQuota=` do.
package enum ProcessorCount {
    /// At least 1; read when it is first asked for.
    package static let available = count(
        online: sysconf(Int32(_SC_NPROCESSORS_ONLN)), allowed: content("/proc/self/status").flatMap(allowed(inStatus:)),
        quotas: folders(inMembership: content("/proc/self/cgroup") ?? "").compactMap {
            content("\($0)/cpu.max").flatMap(quota(inLimit:))
        })

    /// - Parameters:
    ///   - allowed: also those that are not there, but could be added to a virtual machine.
    ///   - quotas: of the process's cgroup and of those above it, each of which holds.
    static func count(online: Int, allowed: Int?, quotas: [Int]) -> Int {
        max(1, quotas.reduce(min(online, allowed ?? online), min))
    }

    /// The processors that the scheduler may choose from (`Cpus_allowed` in proc_pid_status(5)): a mask in hexadecimal
    /// digits, with commas between groups of eight.
    static func allowed(inStatus text: String) -> Int? {
        let key = "Cpus_allowed:"
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(key) }) else { return nil }
        let count = line.dropFirst(key.count).reduce(0) { $0 + ($1.hexDigitValue?.nonzeroBitCount ?? 0) }
        return count > 0 ? count : nil
    }

    /// The folders of the process's cgroup (version 2, the line `0::/PATH` in cgroups(7)) and of all above it.
    static func folders(inMembership text: String) -> [String] {
        let key = "0::/"
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(key) }) else { return [] }
        return line.dropFirst(key.count).split(separator: "/").reduce(into: ["/sys/fs/cgroup"]) { folders, name in
            folders.append("\(folders.last ?? "")/\(name)")
        }
    }

    /// The processors whose whole time a cgroup may use, a part of one counted as one: `cpu.max` has microseconds for
    /// each period and the period's length, or `max` in place of the former.
    static func quota(inLimit text: String) -> Int? {
        let numbers = text.split(whereSeparator: \.isWhitespace).map { Int($0) }
        guard numbers.count == 2, let time = numbers[0], let period = numbers[1], time > 0, period > 0 else {
            return nil
        }
        return time / period + (time % period > 0 ? 1 : 0)
    }

    private static func content(_ path: String) -> String? {
        (try? BoundedFile.read(path, upTo: 64 << 10)).map { String(decoding: $0, as: UTF8.self) }
    }
}
