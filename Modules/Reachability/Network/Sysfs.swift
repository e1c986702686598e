internal import Glibc

/// Facts from sysfs about an interface.
enum Sysfs {
    /// - Parameter index: the interface's index: another interface may have this name in the namespace that is mounted
    ///   here.
    static func describe(_ name: String, _ index: UInt32, _ facts: inout InterfaceFacts) {
        // Names have at most 15 bytes and no slash; the kernel guarantees it, and this checks it again.
        guard (1...15).contains(name.utf8.count), !name.contains("/"), name != ".", name != ".." else { return }
        let folder = "/sys/class/net/\(name)"
        guard contents("\(folder)/ifindex")?.split(separator: "\n").first.flatMap({ UInt32($0) }) == index else {
            return
        }
        let types = (contents("\(folder)/uevent") ?? "").split(separator: "\n")
        facts.isMobile = types.contains("DEVTYPE=wwan")
        facts.isWirelessLAN =
            types.contains("DEVTYPE=wlan") || exists("\(folder)/wireless") || exists("\(folder)/phy80211")
    }

    private static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

    /// At most 4 KiB.
    private static func contents(_ path: String) -> String? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = unsafe read(descriptor, &bytes, bytes.count)
        guard count >= 0 else { return nil }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
