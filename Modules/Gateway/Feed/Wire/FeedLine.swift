internal import Foundation
internal import SallyportWire

/// A line of the feed: a JSON object with one member, as Docs/Wire.md describes it.
///
/// An update is `begin`, its parts in any order, and `end`. It takes effect at `end`, as a whole.
///
/// Relays and gateways of neighbouring versions stand beside each other. A relay passes over lines and members that it does
/// not know; so what a later version adds is sent as it is only where a relay that does not know it allows no more without
/// it. Everything else raises ``level``, and an update that has it says so in its `begin`. As a gateway writes nothing into
/// the fleet's database that is above its feature level, it sends nothing above the level that this one has.
enum FeedLine: Sendable, Hashable {
    /// - Parameters:
    ///   - from: the update holds what changed after this revision; nil if it is everything.
    ///   - revision: what the state is once the update is applied.
    case begin(from: Int64?, revision: Int64)
    case authorities(FeedAuthorities)
    /// HOST:PORT of the gateways that a relay may follow.
    case controls([String])
    /// A piece of the directory's JSON, without users.
    case directory(String)
    /// A piece of the users' JSON.
    case users(String)
    case instances([FeedInstance])
    /// With the revision of `begin`.
    case end(Int64)
    case beat(FeedBeat)
    /// The relay was removed: it has no right to anything any more. The last line.
    case removed
    /// Of a kind that a later version has added. Never sent.
    case unknown

    /// What a relay of this version understands, and a gateway of it sends at most.
    static let level = 1
    /// The longest line, in bytes, without its end.
    static let limit = 1 << 20
    /// The most instances of one line.
    static let instanceLimit = 100
    /// The longest piece of a text in one line, in bytes before it is escaped.
    static let pieceLimit = 128 << 10
    /// The longest directory, and the longest list of users, in bytes.
    static let textLimit = 64 << 20
    /// The most instances of an update.
    static let totalLimit = 1_000_000
}

/// What a gateway says each 250 ms.
struct FeedBeat: Sendable, Hashable, Codable {
    /// What was sent so far.
    var revision: Int64
    /// Milliseconds since its store has said that there is nothing newer; nil if that was never, or if something newer
    /// is still to be sent.
    var age: Int64?
    /// The number that the relay has sent last: the line is younger than that.
    var echo: Int64

    /// When the sender's store has said that there is nothing newer, by the relay's number of milliseconds; nil if the
    /// beat does not say so, or cannot be true.
    ///
    /// - Parameter count: the relay's present number, which grows from 0 on.
    func word(at count: Int64) -> Int64? {
        guard let age, age >= 0, echo >= 0, echo <= count else { return nil }
        return echo - age
    }
}

// MARK: Coding

extension FeedLine: Codable {
    private enum CodingKeys: String, CodingKey {
        case begin, authorities, controls, directory, users, instances, end, beat, removed
    }

    private struct Beginning: Codable {
        var from: Int64?
        var revision: Int64
        /// The least level that a relay needs which applies the update; left out for 1.
        var level: Int?
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard container.allKeys.count <= 1 else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "A line has one member."))
        }
        guard let key = container.allKeys.first else {
            self = .unknown
            return
        }
        self =
            switch key {
            case .begin:
                try {
                    let beginning = try container.decode(Beginning.self, forKey: key)
                    guard beginning.level ?? 1 <= Self.level else { throw Self.isAbove(beginning.level ?? 1) }
                    return .begin(from: beginning.from, revision: beginning.revision)
                }()
            case .authorities: .authorities(try container.decode(FeedAuthorities.self, forKey: key))
            case .controls: .controls(try container.decode([String].self, forKey: key))
            case .directory: .directory(try container.decode(String.self, forKey: key))
            case .users: .users(try container.decode(String.self, forKey: key))
            case .instances: .instances(try container.decode([FeedInstance].self, forKey: key))
            case .end: .end(try container.decode(Int64.self, forKey: key))
            case .beat: .beat(try container.decode(FeedBeat.self, forKey: key))
            case .removed: .removed
            }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .begin(let from, let revision):
            try container.encode(Beginning(from: from, revision: revision), forKey: .begin)
        case .authorities(let authorities): try container.encode(authorities, forKey: .authorities)
        case .controls(let controls): try container.encode(controls, forKey: .controls)
        case .directory(let piece): try container.encode(piece, forKey: .directory)
        case .users(let piece): try container.encode(piece, forKey: .users)
        case .instances(let instances): try container.encode(instances, forKey: .instances)
        case .end(let revision): try container.encode(revision, forKey: .end)
        case .beat(let beat): try container.encode(beat, forKey: .beat)
        case .removed: try container.encode(true, forKey: .removed)
        case .unknown: break
        }
    }
}

extension FeedLine {
    /// - Throws: `invalid` for what is no line, is too long, or needs a relay of a later version.
    init(_ bytes: [UInt8]) throws(GatewayError) {
        guard bytes.count <= Self.limit else { throw Self.tooLong }
        do {
            self = try FeedCoding.decoder.decode(FeedLine.self, from: Data(bytes))
        } catch let error as GatewayError {
            throw error
        } catch {
            throw GatewayError(.invalid, "A line of the feed is not understood.", underlying: error)
        }
    }

    private static func isAbove(_ level: Int) -> GatewayError {
        GatewayError(
            .invalid,
            "The feed needs a relay of level \(level), and this one has \(Self.level): upgrade this relay. Until then it follows "
                + "gateways of an earlier version only.")
    }

    static var tooLong: GatewayError { GatewayError(.invalid, "A line of the feed has more than \(limit) bytes.") }

    /// With its end.
    func serialized() throws -> [UInt8] {
        let bytes = try Array(FeedCoding.encoder.encode(self))
        guard bytes.count <= Self.limit else {
            throw GatewayError(.internalFailure, "A line of the feed would have more than \(Self.limit) bytes.")
        }
        return bytes + [UInt8(ascii: "\n")]
    }
}

/// JSON as the feed has it: times in seconds since 1970.
enum FeedCoding {
    static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .secondsSince1970
        encoder.outputFormatting = .withoutEscapingSlashes
        return encoder
    }

    static var decoder: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        return decoder
    }
}
