internal import Foundation
internal import SallyportWire

/// Puts the lines of one sender together. A value without I/O.
struct FeedAssembly: Sendable {
    enum Event: Sendable {
        case nothing
        /// An update begins: call ``FeedAssembly/skip()`` if it is of no use.
        case begins(from: Int64?, to: Int64)
        case update(FeedUpdate)
        case skipped(to: Int64)
        case beat(FeedBeat)
        case removed
    }

    fileprivate struct Parts {
        var authorities: FeedAuthorities?
        var controls: [String]?
        var directory: String?
        var users: String?
        var instances: [InstanceRecord] = []
    }

    private enum Phase {
        case between
        case collecting(from: Int64?, to: Int64, Parts)
        case skipping(to: Int64)
    }

    private var phase = Phase.between

    /// Ignores the parts of the update that has begun.
    mutating func skip() {
        if case .collecting(_, let revision, _) = phase { phase = .skipping(to: revision) }
    }

    /// - Throws: `invalid` for a line that is none, or that has no place here, and for more than a relay keeps.
    mutating func received(_ bytes: [UInt8]) throws(GatewayError) -> Event {
        // A snapshot of no use can be long.
        if case .skipping = phase, bytes.count <= FeedLine.limit, Self.isPart(bytes) { return .nothing }
        return try received(FeedLine(bytes))
    }

    private static func isPart(_ bytes: [UInt8]) -> Bool {
        ["instances", "users", "directory", "authorities", "controls"].contains {
            bytes.starts(with: "{\"\($0)\"".utf8)
        }
    }

    mutating func received(_ line: FeedLine) throws(GatewayError) -> Event {
        switch (line, phase) {
        case (.removed, _): return .removed
        case (.unknown, _): return .nothing
        case (.beat(let beat), .between): return .beat(beat)
        case (.begin(let from, let revision), .between):
            phase = .collecting(from: from, to: revision, Parts())
            return .begins(from: from, to: revision)
        case (.end(let end), .collecting(let from, let revision, let parts)) where end == revision:
            phase = .between
            return .update(try Self.update(from: from, to: revision, parts))
        case (.end(let end), .skipping(let revision)) where end == revision:
            phase = .between
            return .skipped(to: revision)
        case (_, .collecting(let from, let revision, var parts)):
            // No copy of the parts remains in the phase while they grow.
            phase = .between
            try parts.add(line)
            phase = .collecting(from: from, to: revision, parts)
            return .nothing
        default: throw GatewayError(.invalid, "A line of the feed is out of place.")
        }
    }

    private static func update(
        from: Int64?, to revision: Int64, _ parts: Parts
    ) throws(GatewayError) -> FeedUpdate {
        var update = FeedUpdate(from: from, revision: revision)
        update.authorities = parts.authorities
        update.controls = parts.controls
        update.directory = try parts.directory.map { text throws(GatewayError) in try decoded(text) }
        update.users = try parts.users.map { text throws(GatewayError) in try decoded(text) }
        update.instances = .some(parts.instances)
        return update
    }

    private static func decoded<Value: Decodable>(_ text: String) throws(GatewayError) -> Value {
        do { return try FeedCoding.decoder.decode(Value.self, from: Data(text.utf8)) } catch {
            throw GatewayError(.invalid, "A part of the feed is not understood.", underlying: error)
        }
    }
}

extension FeedAssembly.Parts {
    fileprivate mutating func add(_ line: FeedLine) throws(GatewayError) {
        switch line {
        case .authorities(let value): authorities = value
        case .controls(let value): controls = value
        case .directory(let piece): directory = try Self.joined(directory, piece)
        case .users(let piece): users = try Self.joined(users, piece)
        case .instances(let value):
            guard value.count <= FeedLine.instanceLimit, instances.count + value.count <= FeedLine.totalLimit else {
                throw GatewayError(.invalid, "The feed has more instances than a relay takes.")
            }
            instances += value.map(\.record)
        case .begin, .end, .beat, .removed, .unknown:
            throw GatewayError(.invalid, "A line of the feed is out of place.")
        }
    }

    private static func joined(_ text: String?, _ piece: String) throws(GatewayError) -> String {
        guard (text?.utf8.count ?? 0) + piece.utf8.count <= FeedLine.textLimit else {
            throw GatewayError(.invalid, "A part of the feed has more than \(FeedLine.textLimit) bytes.")
        }
        return (text ?? "") + piece
    }
}
