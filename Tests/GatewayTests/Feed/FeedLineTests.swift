import Foundation
import HashTreeCollections
import NIOCore
import SallyportWire
import Testing

@testable import SallyportGateway

/// The lines of the feed, and how a relay puts them together.
@Suite struct FeedLineTests {
    private let authorities: FeedAuthorities

    init() throws {
        authorities = FeedAuthorities(
            trust: [try CertificateAuthority.create(name: "test", now: Date()).certificate])
    }

    private func record(_ number: Int) throws -> InstanceRecord {
        let name = try #require(InstanceName("sallyport://com.example.report/\(InstanceIdentifier())"))
        return InstanceRecord(
            name: name, user: "user\(number)", userID: UserIdentifier(), certificate: .init([]),
            retiredSerials: (0..<64).map { "\($0)" }, activated: .distantPast)
    }

    private func snapshot(instances count: Int) throws -> FeedUpdate {
        var update = FeedUpdate(from: nil, revision: 7)
        update.directory = Directory()
        update.users = ["änn": .init(id: UserIdentifier(), entitlements: ["com.example.report": ["1.0.0.0"]])]
        update.authorities = authorities
        update.controls = ["a.example:17433"]
        var table = InstanceTable()
        for number in 0..<count {
            let record = try record(number)
            table[record.name.instance] = record
        }
        update.instances = .all(table)
        return update
    }

    private func received(_ update: FeedUpdate) throws -> FeedUpdate? {
        var assembly = FeedAssembly()
        var received: FeedUpdate?
        for line in try update.lines() {
            let bytes = try line.serialized()
            #expect(bytes.last == UInt8(ascii: "\n") && !bytes.dropLast().contains(UInt8(ascii: "\n")))
            if case .update(let whole) = try assembly.received(Array(bytes.dropLast())) { received = whole }
        }
        return received
    }

    @Test func aBeatThatCannotBeTrueIsNoWord() {
        func word(_ age: Int64?, _ echo: Int64) -> Int64? { FeedBeat(revision: 1, age: age, echo: echo).word(at: 1000) }
        #expect(word(20, 1000) == 980 && word(0, 0) == 0)
        // Of before the relay began.
        #expect(word(20, 5) == -15 && word(Int64.max, 0) == -Int64.max)
        #expect(word(nil, 1000) == nil && word(-1, 1000) == nil && word(20, 1001) == nil)
        #expect(word(20, -1) == nil && word(20, Int64.min) == nil && word(Int64.min, 0) == nil)
    }

    @Test(arguments: [0, 1, 100, 101, 350]) func anUpdateArrivesAsItWasSent(instances count: Int) throws {
        let sent = try snapshot(instances: count)
        let update = try #require(try received(sent))
        #expect(update.from == nil && update.revision == 7)
        #expect(update.directory == sent.directory && update.users == sent.users)
        #expect(update.authorities == authorities && update.controls == ["a.example:17433"])
        guard case .some(let records) = update.instances else { throw TestFailure("no records") }
        #expect(records.count == count)
        #expect(records.allSatisfy { $0.retiredSerials.count == FeedInstance.retiredLimit })
    }

    @Test func aLongTextGoesInPiecesThatDivideNoCharacter() throws {
        let text = String(repeating: "ä€😀", count: FeedLine.pieceLimit / 4)
        let pieces = try FeedUpdate.pieces(of: [text])
        #expect(pieces.count > 1)
        #expect(pieces.allSatisfy { $0.utf8.count <= FeedLine.pieceLimit && !$0.contains("\u{fffd}") })
        #expect(try FeedCoding.decoder.decode([String].self, from: Data(pieces.joined().utf8)) == [text])
        for piece in pieces { #expect(try FeedLine.users(piece).serialized().count <= FeedLine.limit) }
    }

    @Test func aLineAboveTheLimitIsRefused() throws {
        let padding = String(repeating: " ", count: FeedLine.limit - #"{"end":5}"#.utf8.count)
        #expect(try FeedLine(Array((#"{"end":5}"# + padding).utf8)) == .end(5))
        #expect(throws: GatewayError.self) { try FeedLine(Array((#"{"end":5}"# + padding + " ").utf8)) }
        var lines = LineBuffer(limit: 4)
        #expect(try lines.append(ByteBuffer(string: "abcd\nab").readableBytesView) == [Array("abcd".utf8)])
        #expect(try lines.append(ByteBuffer(string: "c\n\n").readableBytesView) == [Array("abc".utf8), []])
        #expect(throws: GatewayError.self) { try lines.append(ByteBuffer(string: "abcde").readableBytesView) }
    }

    @Test(arguments: [
        "", "{", "[]", "null", #"{"end":1,"begin":{"revision":1}}"#, #"{"begin":{}}"#,
        #"{"instances":[{}]}"#, #"{"beat":{"revision":"1"}}"#, "\u{0}",
    ])
    func whatIsNoLineIsRefused(_ text: String) {
        #expect(throws: GatewayError.self) { try FeedLine(Array(text.utf8)) }
    }

    /// As a gateway of a later version may send it.
    @Test func linesAndMembersOfALaterVersionArePassedOver() throws {
        var assembly = FeedAssembly()
        var events: [FeedAssembly.Event] = []
        for (number, line) in try snapshot(instances: 2).lines().enumerated() {
            for text in [#"{"later":{"of":[\#(number)]}}"#, "{}"] {
                events.append(try assembly.received(Array(text.utf8)))
            }
            events.append(try assembly.received(Array(line.serialized().dropLast())))
        }
        guard case .update(let update) = events.last else { throw TestFailure("\(events)") }
        #expect(update.controls == ["a.example:17433"])
        guard case .nothing = try assembly.received(Array(#"{"later":1}"#.utf8)) else { throw TestFailure("not read") }
        let beat = try FeedLine(Array(#"{"beat":{"revision":7,"echo":1,"later":true},"later":1}"#.utf8))
        #expect(beat == .beat(FeedBeat(revision: 7, age: nil, echo: 1)))
    }

    @Test func aFeedThatNeedsALaterRelayIsRefusedWithTheReason() throws {
        let (own, later) = (FeedLine.level, FeedLine.level + 1)
        let begin = try FeedLine(Array(#"{"begin":{"revision":1,"level":\#(own)}}"#.utf8))
        #expect(begin == .begin(from: nil, revision: 1))
        var assembly = FeedAssembly()
        let error = #expect(throws: GatewayError.self) {
            try assembly.received(Array(#"{"begin":{"revision":1,"level":\#(later)}}"#.utf8))
        }
        #expect(error?.message.contains("needs a relay of level \(later)") == true)
        #expect(error?.message.contains("upgrade this relay") == true)
    }

    /// A relay of an earlier version reads `begin` as it was.
    @Test func aLevelOfOneIsNotTold() throws {
        let text = String(decoding: try FeedLine.begin(from: nil, revision: 1).serialized(), as: UTF8.self)
        #expect(!text.contains("level"))
    }

    @Test func aLineOutOfPlaceIsRefused() throws {
        let lines: [[FeedLine]] = [
            [.end(1)], [.instances([])], [.begin(from: nil, revision: 1), .begin(from: nil, revision: 1)],
            [.begin(from: nil, revision: 1), .end(2)],
            [.begin(from: nil, revision: 1), .beat(.init(revision: 1, age: 0, echo: 0))],
        ]
        for lines in lines {
            var assembly = FeedAssembly()
            for line in lines.dropLast() { _ = try assembly.received(line) }
            let last = try #require(lines.last)
            #expect(throws: GatewayError.self) { try assembly.received(last) }
        }
    }

    @Test func tooManyInstancesInALineAreRefused() throws {
        let record = FeedInstance(try record(1))
        var assembly = FeedAssembly()
        _ = try assembly.received(.begin(from: nil, revision: 1))
        _ = try assembly.received(.instances(Array(repeating: record, count: FeedLine.instanceLimit)))
        #expect(throws: GatewayError.self) {
            try assembly.received(.instances(Array(repeating: record, count: FeedLine.instanceLimit + 1)))
        }
    }

    @Test func thePartsOfAnUpdateOfNoUseAreNotRead() throws {
        var assembly = FeedAssembly()
        _ = try assembly.received(Array(#"{"begin":{"revision":3}}"#.utf8))
        assembly.skip()
        guard case .nothing = try assembly.received(Array(#"{"instances":what?}"#.utf8)),
            case .skipped(to: 3) = try assembly.received(Array(#"{"end":3}"#.utf8)),
            case .beat = try assembly.received(Array(#"{"beat":{"revision":3,"echo":1}}"#.utf8))
        else { throw TestFailure("not skipped") }
    }
}

@Suite struct FeedLogTests {
    private let one = InstanceIdentifier()
    private let two = InstanceIdentifier()

    @Test func aFollowerHearsWhatChangedBehindItsPosition() {
        var log = FeedLog()
        #expect(log.changes(after: 0) == nil)
        log.note(.init(revision: 4))
        log.note(.init(revision: 5, instances: [one]))
        log.note(.init(revision: 7, instances: [two], isDirectory: true))
        #expect(log.changes(after: 3) == nil)
        #expect(log.changes(after: 4) == .init(instances: [one, two], isDirectory: true))
        #expect(log.changes(after: 5) == .init(instances: [two], isDirectory: true))
        #expect(log.changes(after: 7) == .init())
    }

    @Test func oneThatIsFarBehindGetsEverything() {
        var log = FeedLog()
        for revision in 0...FeedLog.limit { log.note(.init(revision: Int64(revision), instances: [one])) }
        #expect(log.changes(after: 0) != nil)
        log.note(.init(revision: Int64(FeedLog.limit) + 1))
        #expect(log.changes(after: 0) == nil)
        #expect(log.changes(after: 1) != nil)
        log.note(.init(revision: 5000, instances: (0...FeedLog.instanceLimit).map { _ in InstanceIdentifier() }))
        #expect(log.changes(after: 4999) == nil)
        #expect(log.changes(after: 5000) == .init())
    }
}
