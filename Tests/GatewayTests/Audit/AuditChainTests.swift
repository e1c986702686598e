import Crypto
import Foundation
import Testing

@testable import SallyportGateway

/// Chains of entries, as values.
@Suite struct AuditChainTests {
    /// A chain of entries about users.
    static func entries(_ count: Int, after head: AuditHead = .empty) -> [AuditEntry] {
        var chain = AuditChain(.administration, after: head)
        return (1...count).map { number in
            var event = AuditEvent(
                .administration, by: .embedder, at: Date(timeIntervalSince1970: 1_700_000_000), outcome: "done")
            event[.user] = "user\(number)"
            return chain.append(event)
        }
    }

    static func rows(_ entries: [AuditEntry]) -> [AuditRow] {
        entries.map { AuditRow(number: $0.number, entry: $0) }
    }

    private func faults(
        in rows: [AuditRow], after start: AuditHead = .empty, marks: [AuditMark] = []
    ) -> [AuditReport.Fault] {
        var verifier = AuditVerifier(.administration, after: start, marks: marks)
        for row in rows { verifier.check(row) }
        verifier.end()
        return verifier.faults
    }

    private func found(_ faults: [AuditReport.Fault]) -> [String] { faults.map { "\($0.kind) \($0.number)" } }

    private func head(_ entry: AuditEntry) -> AuditHead { AuditHead(number: entry.number, hash: entry.hash) }

    /// The rule of Docs/Administration.md, applied to the exported line.
    @Test func theHashOfAnEntryFollowsFromItsExportedLine() throws {
        var chain = AuditChain(.access("gateway"), after: .empty)
        var event = AuditEvent(
            .tunnel, by: .instance, at: Date(timeIntervalSince1970: 1_700_000_000.25), outcome: "ended")
        event[.target] = "a\"\\\u{1}ä/b"
        event[number: .sent] = 12
        for _ in 0..<2 {
            let entry = chain.append(event)
            let object = try #require(
                JSONSerialization.jsonObject(with: Data(entry.json.utf8)) as? [String: Any])
            #expect(object["time"] as? String == "2023-11-14T22:13:20.250Z")
            var text = Data("v1".utf8)
            let previous = try #require(object["previous"] as? String)
            for index in stride(from: 0, to: 64, by: 2) {
                let start = previous.index(previous.startIndex, offsetBy: index)
                text.append(try #require(UInt8(previous[start...].prefix(2), radix: 16)))
            }
            for name in object.keys.sorted() where name != "previous" && name != "hash" {
                for part in [name, "\(try #require(object[name]))"] {
                    withUnsafeBytes(of: UInt32(part.utf8.count).bigEndian) { text.append(contentsOf: $0) }
                    text.append(contentsOf: part.utf8)
                }
            }
            let hash = SHA256.hash(data: text).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
            #expect(object["hash"] as? String == hash.joined())
        }
    }

    @Test func aSoundChainHasNoFault() {
        let entries = Self.entries(5)
        #expect(faults(in: Self.rows(entries), marks: [.init(head: head(entries[4]), origin: .head)]).isEmpty)
        #expect(faults(in: []).isEmpty)
        #expect(faults(in: Self.rows(Array(entries[2...])), after: head(entries[1])).isEmpty)
    }

    @Test func everyFieldIsCoveredByTheHash() {
        let entry = Self.entries(1)[0]
        func changed(
            chain: String? = nil, number: Int64? = nil, time: Int64? = nil, fields: [String: String]? = nil,
            previous: [UInt8]? = nil
        ) -> AuditEntry {
            AuditEntry(
                chain: chain ?? entry.chain, number: number ?? entry.number, time: time ?? entry.time,
                fields: fields ?? entry.fields, previous: previous ?? entry.previous, hash: entry.hash)
        }
        #expect(changed().computedHash == entry.hash)
        #expect(changed(chain: "access:x").computedHash != entry.hash)
        #expect(changed(number: 2).computedHash != entry.hash)
        #expect(changed(time: entry.time + 1).computedHash != entry.hash)
        #expect(changed(previous: [UInt8](repeating: 1, count: 32)).computedHash != entry.hash)
        for name in entry.fields.keys {
            var fields = entry.fields
            fields[name]?.append("x")
            #expect(changed(fields: fields).computedHash != entry.hash, "\(name)")
            fields[name] = nil
            #expect(changed(fields: fields).computedHash != entry.hash, "\(name)")
        }
        // Where one field ends and the next begins counts too.
        var fields = entry.fields
        fields["user"] = nil
        fields["use"] = "ruser1"
        #expect(changed(fields: fields).computedHash != entry.hash)
    }

    @Test func aChangedEntryIsNamed() {
        var rows = Self.rows(Self.entries(5))
        let old = Self.entries(5)[2]
        var fields = old.fields
        fields["user"] = "eve"
        rows[2] = AuditRow(
            number: 3,
            entry: AuditEntry(
                chain: old.chain, number: 3, time: old.time, fields: fields,
                previous: rows[1].entry?.hash ?? [], hash: rows[2].entry?.hash ?? []))
        #expect(found(faults(in: rows)) == ["changed 3"])
    }

    @Test func anEntryThatWasMadeAnewIsFoundByTheNext() {
        var rows = Self.rows(Self.entries(5))
        let others = Self.entries(3)
        rows[2] = AuditRow(number: 3, entry: others[2])
        #expect(found(faults(in: rows)) == ["unlinked 3", "unlinked 4"])
    }

    @Test(arguments: 0..<4) func aMissingEntryIsNamed(_ place: Int) {
        var rows = Self.rows(Self.entries(5))
        rows.remove(at: place)
        #expect(found(faults(in: rows)) == ["missing \(place + 1)"])
    }

    @Test func severalMissingEntriesAreNamedTogether() {
        var rows = Self.rows(Self.entries(9))
        rows.removeSubrange(2..<6)
        let faults = faults(in: rows)
        #expect(faults.count == 1)
        #expect(faults.first?.description == "administration entries 3 to 6: missing")
    }

    @Test func entriesInEachOthersPlacesAreNamed() {
        let entries = Self.entries(5)
        var rows = Self.rows(entries)
        (rows[1], rows[3]) = (.init(number: 2, entry: entries[3]), .init(number: 4, entry: entries[1]))
        #expect(found(faults(in: rows)) == ["misplaced 2", "unlinked 3", "misplaced 4", "unlinked 5"])
    }

    @Test func anUnreadableEntryIsNamedAndTheRestIsStillVerified() {
        var rows = Self.rows(Self.entries(5))
        rows[1] = AuditRow(number: 2, entry: nil)
        #expect(found(faults(in: rows)) == ["unreadable 2"])
        rows.remove(at: 3)
        #expect(found(faults(in: rows)) == ["unreadable 2", "missing 4"])
    }

    @Test func anEndThatWasCutOffIsFoundByAMarkOnly() {
        let entries = Self.entries(5)
        let rows = Self.rows(Array(entries[..<3]))
        #expect(faults(in: rows).isEmpty)
        let faults = faults(in: rows, marks: [.init(head: head(entries[4]), origin: .given)])
        #expect(found(faults) == ["cut 4"])
        #expect(faults.first?.through == 5 && faults.first?.origin == .given)
    }

    @Test func anotherChainOfTheSameLengthIsFoundByAMark() {
        let entries = Self.entries(5)
        let mark = AuditMark(head: head(entries[2]), origin: .checkpoint)
        #expect(found(faults(in: Self.rows(Self.entries(5)), marks: [mark])) == ["replaced 3"])
        #expect(faults(in: Self.rows(entries), marks: [mark]).isEmpty)
    }

    @Test func aMarkBeforeTheStartIsNotCompared() {
        let entries = Self.entries(5)
        let mark = AuditMark(head: AuditHead(number: 1, hash: [1]), origin: .given)
        #expect(faults(in: Self.rows(Array(entries[2...])), after: head(entries[1]), marks: [mark]).isEmpty)
    }

    @Test func notMoreThanAHundredFaultsAreTold() {
        var rows = Self.rows(Self.entries(250))
        for index in rows.indices { rows[index] = AuditRow(number: rows[index].number, entry: nil) }
        #expect(faults(in: rows).count == AuditVerifier.faultLimit)
    }

    @Test func equalEventsHaveDifferentHashes() {
        let event = AuditEvent(.start, by: .gateway, at: .now)
        var (first, second) = (AuditChain(.access("a"), after: .empty), AuditChain(.access("a"), after: .empty))
        #expect(first.append(event).hash != second.append(event).hash)
    }

    @Test(arguments: [0, 951_782_399_999, 951_868_799_001, 1_700_000_000_250, 253_402_300_799_999])
    func timesAreWrittenAsFoundationDoes(_ milliseconds: Int64) {
        let text = AuditTime.text(milliseconds)
        let date = Date(timeIntervalSince1970: Double(milliseconds / 1000))
        #expect(text.prefix(19) == date.formatted(.iso8601).dropLast())
        #expect(text.hasSuffix("." + String("00\(milliseconds % 1000)".suffix(3)) + "Z"))
    }

    @Test func aFieldHasALimit() {
        var event = AuditEvent(.start, by: .gateway, at: .now)
        event[.detail] = String(repeating: "ä", count: AuditEvent.fieldLimit)
        #expect(event[.detail]?.utf8.count == AuditEvent.fieldLimit)
        event[.detail] = String(repeating: "a", count: AuditEvent.fieldLimit + 1)
        #expect(event[.detail]?.utf8.count == AuditEvent.fieldLimit)
    }
}

/// What waits to be written, as a value.
@Suite struct AuditBufferTests {
    private func refusal(_ source: String, _ instance: String? = nil) -> AuditEvent {
        var event = AuditEvent(.refusal, by: .peer, at: .now, outcome: "unauthorized")
        (event[.source], event[.instance]) = (source, instance)
        return event
    }

    @Test func oneBeyondTheLimitIsLostAndCounted() {
        var buffer = AuditBuffer()
        let event = AuditEvent(.tunnel, by: .instance, at: .now)
        for _ in 0...AuditBuffer.limit { buffer.add(event, mayRepeat: false) }
        let (events, lost) = buffer.take()
        #expect(events.count == AuditBuffer.limit && lost == 1)
        #expect(buffer.isEmpty)
    }

    @Test func whatARelayTellsIsTakenWholeOrNotAtAll() {
        var buffer = AuditBuffer()
        let event = AuditEvent(.tunnel, by: .instance, at: .now)
        let most = [AuditEvent](repeating: event, count: AuditBuffer.limit - 1)
        #expect(buffer.add(all: most) == true)
        #expect(buffer.add(all: [event, event]) == false)
        #expect(buffer.events.count == most.count && buffer.lost == 0)
    }

    @Test func aRecorderThatKeepsNothingHasNothing() {
        let recorder = AuditRecorder(keeps: false)
        recorder.connect("instance", nil, address: nil, error: nil)
        let (events, lost, count) = recorder.take()
        #expect(events.isEmpty && lost == 0 && count == 0)
    }

    @Test func equalRefusalsBecomeOneEntryWithACount() {
        var buffer = AuditBuffer()
        for _ in 0..<3 { buffer.add(refusal("10.0.0.1"), mayRepeat: true) }
        buffer.add(refusal("10.0.0.2"), mayRepeat: true)
        #expect(buffer.take().events.map { $0[number: .count] } == [3, nil])
        buffer.add(refusal("10.0.0.1"), mayRepeat: true)
        #expect(buffer.take().events.map { $0[number: .count] } == [nil])
    }

    @Test func whatMayNotRepeatHasAnEntryEachTime() {
        var buffer = AuditBuffer()
        for _ in 0..<3 { buffer.add(refusal("10.0.0.1"), mayRepeat: false) }
        #expect(buffer.take().events.count == 3)
    }

    @Test func oneStrangerBeyondTheLimitIsCountedWithOthers() {
        var buffer = AuditBuffer()
        for number in 0..<AuditBuffer.strangerLimit + 2 {
            buffer.add(refusal("10.0.\(number / 256).\(number % 256)"), mayRepeat: true)
        }
        buffer.add(refusal("10.0.0.1", "an instance"), mayRepeat: true)
        let events = buffer.take().events
        #expect(events.count == AuditBuffer.strangerLimit + 2)
        #expect(events[AuditBuffer.strangerLimit][.outcome] == "others")
        #expect(events[AuditBuffer.strangerLimit][number: .count] == 2)
    }
}
