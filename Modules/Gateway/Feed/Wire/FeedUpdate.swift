internal import Foundation
internal import HashTreeCollections
internal import SallyportWire

/// A change of the state that relays follow, or all of it.
struct FeedUpdate: Sendable {
    enum Instances: Sendable {
        case all(InstanceTable)
        case some([InstanceRecord])
    }

    /// It contains what changed after this revision; nil if it contains everything.
    let from: Int64?
    let revision: Int64
    /// Without users; nil if it is unchanged, as is the rest.
    var directory: Directory?
    var users: [String: Directory.User]?
    var authorities: FeedAuthorities?
    var controls: [String]?
    var instances = Instances.some([])

    init(from: Int64?, revision: Int64) { (self.from, self.revision) = (from, revision) }
}

extension FeedUpdate {
    /// The lines one by one, since all lines of a large state would take much memory at once.
    func lines() throws -> FeedLines {
        var first = [FeedLine.begin(from: from, revision: revision)]
        if let authorities { first.append(.authorities(authorities)) }
        if let controls { first.append(.controls(controls)) }
        if let directory { first += try Self.pieces(of: directory).map(FeedLine.directory) }
        if let users { first += try Self.pieces(of: users).map(FeedLine.users) }
        let records =
            switch instances {
            case .all(let table): AnyIterator(table.values.makeIterator())
            case .some(let records): AnyIterator(records.makeIterator())
            }
        return FeedLines(first: first[...], records: records, last: .end(revision))
    }

    /// The JSON text of a value in pieces, none of which divides a character.
    static func pieces(of value: some Encodable) throws -> [String] {
        let bytes = Array(try FeedCoding.encoder.encode(value))
        var pieces: [String] = []
        var start = 0
        while start < bytes.count {
            var end = min(start + FeedLine.pieceLimit, bytes.count)
            while end < bytes.count, bytes[end] & 0xc0 == 0x80 { end -= 1 }
            pieces.append(String(decoding: bytes[start..<end], as: UTF8.self))
            start = end
        }
        return pieces
    }
}

/// The lines of an update, of which those with instances are made when they are asked for.
struct FeedLines: Sequence, IteratorProtocol {
    fileprivate var first: ArraySlice<FeedLine>
    fileprivate let records: AnyIterator<InstanceRecord>
    fileprivate var last: FeedLine?

    mutating func next() -> FeedLine? {
        if let line = first.popFirst() { return line }
        var instances: [FeedInstance] = []
        while instances.count < FeedLine.instanceLimit, let record = records.next() {
            instances.append(FeedInstance(record))
        }
        return instances.isEmpty ? last.take() : .instances(instances)
    }
}
