import TestSupport
import Testing

/// One frame of HTTP/2 (RFC 9113 §4.1), as bytes: right or wrong, as a test wants it.
struct RawFrame: Sendable {
    enum Kind: UInt8 {
        case data, headers, priority, reset, settings, pushPromise, ping, goAway, windowUpdate, continuation
    }

    var kind: UInt8
    var flags: UInt8 = 0
    var stream: UInt32 = 1
    var payload: [UInt8] = []
    /// What the frame says of its length, where that is not the truth.
    var length: Int?

    init(_ kind: Kind, flags: UInt8 = 0, stream: UInt32 = 1, _ payload: [UInt8] = [], length: Int? = nil) {
        (self.kind, self.flags, self.stream, self.payload, self.length) = (
            kind.rawValue, flags, stream, payload, length
        )
    }

    var bytes: [UInt8] {
        let length = length ?? payload.count
        return [UInt8(truncatingIfNeeded: length >> 16), UInt8(truncatingIfNeeded: length >> 8)]
            + [UInt8(truncatingIfNeeded: length), kind, flags] + Self.number(stream) + payload
    }

    static func number(_ value: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
    }

    static let endStream: UInt8 = 1
    static let acknowledgement: UInt8 = 1
    static let endHeaders: UInt8 = 4

    /// HPACK (RFC 7541): a field that is not indexed. Names and values up to 126 bytes, or long ones.
    static func field(_ name: String, _ value: String) -> [UInt8] { [0] + text(name) + text(value) }

    private static func text(_ text: String) -> [UInt8] {
        var rest = text.utf8.count
        guard rest >= 127 else { return [UInt8(rest)] + text.utf8 }
        var length: [UInt8] = [127]
        rest -= 127
        while rest >= 128 {
            length.append(UInt8(rest % 128) | 128)
            rest /= 128
        }
        return length + [UInt8(rest)] + text.utf8
    }

    /// `:status: 200`, and more.
    static func head(_ more: [UInt8] = [], flags: UInt8 = endHeaders) -> RawFrame {
        RawFrame(.headers, flags: flags, [0x88] + more)
    }
}

/// What a server does with a connection of HTTP/2, once it has a request on stream 1, and how the load ends.
struct HTTP2Case: Sendable, CustomTestStringConvertible {
    let name: String
    let codes: Set<LoadErrorCode>
    var endsConnection = false
    let act: @Sendable (TestTLSConnection) -> Void

    init(
        _ name: String, _ codes: LoadErrorCode..., endsConnection: Bool = false,
        act: @escaping @Sendable (TestTLSConnection) -> Void
    ) {
        (self.name, self.codes, self.act) = (name, Set(codes), act)
        self.endsConnection = endsConnection
    }

    init(_ name: String, _ codes: LoadErrorCode..., endsConnection: Bool = false, sends frames: RawFrame...) {
        (self.name, self.codes) = (name, Set(codes))
        self.endsConnection = endsConnection
        act = { client in for frame in frames { client.write(frame.bytes) } }
    }

    var testDescription: String { name }

    func server(_ tls: RawTLS) throws -> TestServer {
        var tls = tls
        tls.applicationProtocol = "h2"
        return try TestServer { [tls, act, endsConnection] connection in
            guard let client = tls.accept(connection), client.readRequest() else { return connection.finish() }
            act(client)
            // The connection stays: the load must end without its end.
            if endsConnection { connection.finish() } else { connection.awaitEnd() }
        }
    }
}

extension TestTLSConnection {
    /// Reads the preface and frames up to the head of the first request.
    func readRequest() -> Bool {
        guard readExactly(24) != nil else { return false }
        write(RawFrame(.settings, stream: 0).bytes)
        return readHeadFrame()
    }

    /// Reads frames up to the next head.
    func readHeadFrame() -> Bool {
        while let head = readExactly(9) {
            let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
            guard length == 0 || readExactly(length) != nil else { return false }
            if head[3] == RawFrame.Kind.headers.rawValue { return true }
        }
        return false
    }

    private func readExactly(_ count: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let more = read(upTo: count - bytes.count)
            if more.isEmpty { return nil }
            bytes += more
        }
        return bytes
    }

    /// Writes the same again and again until the peer has left; at most so many times.
    func write(_ frame: RawFrame, times: Int) {
        let bytes = frame.bytes
        let block = Array(repeatElement(bytes, count: max(1, 8192 / bytes.count)).joined())
        for _ in 0..<(times * bytes.count / block.count) where !write(block) { return }
    }
}
