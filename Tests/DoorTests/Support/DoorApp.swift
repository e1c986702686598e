import Glibc
import Logging
import SallyportBase
import SallyportConnecting
import SallyportCore
import TestSupport

@testable import SallyportDoor

/// The door of an app in a world.
struct DoorApp: Sendable {
    let world: World
    let door: Door
    let connector: Connector
    let places: [DoorPlace]
    private let ends: Lock<[DoorRecord]>

    /// - Parameter forward: a server to which a further place leads.
    init(
        in world: World, on places: [DoorPlace] = [.loopback()], to forward: Endpoint? = nil,
        _ change: (inout DoorConfiguration) -> Void = { _ in }
    ) async throws {
        let ends = Lock<[DoorRecord]>([])
        var configuration = DoorConfiguration(listeningOn: places)
        configuration.forwards = forward.map { [.init(from: .loopback(), to: $0)] } ?? []
        configuration.onRecord = { record in ends.withLock { $0.append(record) } }
        change(&configuration)
        self.world = world
        self.ends = ends
        connector = Connector(gate: world.gate)
        door = Door(through: connector, configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        self.places = try await door.open()
    }

    var records: [DoorRecord] { ends.withLock { $0 } }

    /// The record of the connection that ended as number `count`.
    func record(_ count: Int = 1) async throws -> DoorRecord {
        let isThere = try await eventually { records.count >= count }
        guard isThere else { throw Unexpected("there are \(records.count) records") }
        return records[count - 1]
    }

    func visit(_ index: Int = 0) throws -> DoorClient { try DoorClient(to: places[index]) }

    /// A tunnel by CONNECT, open.
    func tunnel(to target: String) throws -> DoorClient {
        let client = try visit()
        client.send("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\r\n")
        let head = client.head()
        guard head.hasPrefix("HTTP/1.1 200 ") else { throw Unexpected(head) }
        return client
    }
}

extension TestServer {
    /// By its name: a door refuses addresses that no rule names.
    var named: Endpoint { get throws { try Endpoint("localhost:\(port)") } }
}

/// A program that connects to a door; calls block, at most 10 s.
final class DoorClient: Sendable {
    let descriptor: Int32
    private let isOpen = Lock(true)

    init(to place: DoorPlace) throws {
        let address: SocketAddress? =
            switch place {
            case .tcp(let address, let port): SocketAddress(address, port)
            case .unixSocket(let path): SocketAddress(path: path)
            case .descriptor: nil
            }
        guard let address else { throw Unexpected("no address: \(place)") }
        let isTCP = if case .tcp = place { true } else { false }
        descriptor = socket(isTCP ? AF_INET : AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        guard address.with({ connect(descriptor, $0, $1) }) == 0 else {
            close(descriptor)
            throw Unexpected("connect failed with \(errno)")
        }
    }

    deinit { end() }

    /// Closes the connection; it is closed when the client is let go, too.
    func end() {
        let isFirst = isOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        if isFirst { close(descriptor) }
    }

    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    @discardableResult
    func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// Empty at the end.
    func read(upTo limit: Int = 65536) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            count = max(0, recv(descriptor, buffer.baseAddress, limit, 0))
        }
    }

    func readAll() -> [UInt8] {
        var all: [UInt8] = []
        while case let bytes = read(), !bytes.isEmpty { all += bytes }
        return all
    }

    func text() -> String { String(decoding: readAll(), as: UTF8.self) }

    /// Up to and with the blank line.
    func head() -> String {
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual([13, 10, 13, 10]), case let byte = read(upTo: 1), !byte.isEmpty {
            head += byte
        }
        return String(decoding: head, as: UTF8.self)
    }

    func read(exactly count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count, case let more = read(upTo: count - bytes.count), !more.isEmpty { bytes += more }
        return bytes
    }

    func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }
}
