import ArgumentParser
import Glibc
import SallyportCore
import SallyportDoor

/// A loopback address and a port: `127.0.0.1:1080`, `[::1]:0`, `localhost:1080`.
struct LoopbackArgument: ExpressibleByArgument, Sendable, Hashable {
    let place: DoorPlace

    init?(argument: String) {
        guard let colon = argument.lastIndex(of: ":"), let port = UInt16(argument[argument.index(after: colon)...]),
            let address = Self.address(String(argument[..<colon]))
        else { return nil }
        place = .tcp(address, port: port)
    }

    /// Others are refused by the door, which says why.
    static func address(_ text: String) -> IPAddress? {
        if text == "localhost" { return .v4(0x7f00_0001) }
        if case .address(let address)? = try? Host(text) { return address }
        return nil
    }
}

/// `[BIND:]PORT:HOST:PORT`, as `ssh -L` has it.
struct ForwardArgument: ExpressibleByArgument, Sendable, Hashable {
    let forward: DoorConfiguration.Forward

    init?(argument: String) {
        let parts = Self.split(argument)
        guard (3...4).contains(parts.count), let port = UInt16(parts[parts.count - 3]),
            let target = try? Endpoint(parts.suffix(2).joined(separator: ":"))
        else { return nil }
        guard parts.count == 4 else {
            forward = .init(from: .loopback(port: port), to: target)
            return
        }
        guard let address = LoopbackArgument.address(parts[0]) else { return nil }
        forward = .init(from: .tcp(address, port: port), to: target)
    }

    /// At colons outside brackets.
    private static func split(_ text: String) -> [String] {
        var parts = [""]
        var isInside = false
        for character in text {
            if character == "[" { isInside = true }
            if character == "]" { isInside = false }
            if character == ":", !isInside { parts.append("") } else { parts[parts.count - 1].append(character) }
        }
        return parts
    }
}

/// A user of this machine, by name or number.
struct UserArgument: ExpressibleByArgument, Sendable, Hashable {
    let number: UInt32

    init?(argument: String) {
        if let number = UInt32(argument) {
            self.number = number
            return
        }
        guard let entry = getpwnam(argument) else { return nil }
        number = entry.pointee.pw_uid
    }
}

enum ShellArgument: String, ExpressibleByArgument, CaseIterable, Sendable { case sh, fish, json }
