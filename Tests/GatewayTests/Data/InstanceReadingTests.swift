import Foundation
import SallyportWire
import Testing

@testable import SallyportGateway

/// Records of instances are read by `MemberReader` if their text allows it, with the outcome of `JSONDecoder`.
@Suite struct InstanceReadingTests {
    private func record() throws -> InstanceRecord {
        let name = try #require(InstanceName("sallyport://com.example.report/\(InstanceIdentifier())"))
        return InstanceRecord(
            name: name, user: "ann", userID: UserIdentifier(), certificate: .init(serial: "00ff", end: Date()),
            activated: Date(timeIntervalSince1970: 1_700_000_000.25))
    }

    private static let edits: [@Sendable (inout InstanceRecord) -> Void] = [
        { _ in }, { $0.version = "1.2.3.4" }, { $0.user = "änn/ø" }, { $0.lockReason = .passwordChange },
        { $0.withdrawals = [.blocked, .locked] }, { $0.stored = .max }, { $0.epoch = -1 },
        { $0.renewed = .init(serial: "01", end: .distantFuture) }, { $0.retiredSerials = ["01", "02", ""] },
        { $0.activated = .distantPast }, { $0.lastSeen = Date() }, { $0.end(.wiped, at: Date()) },
        { $0.countUpdate(isAnnounced: false) }, { $0.announced = 7 },
        // In base64, the bytes are solidi.
        { $0.renewal = .init(publicKey: Data([255, 255, 255]), certificate: Data([1]), time: Date()) },
    ]

    @Test func eachFormOfEachMemberIsReadWithoutADecoder() throws {
        var all = try record()
        for edit in Self.edits {
            var one = try record()
            edit(&one)
            edit(&all)
            for record in [one, all] {
                let text = try JSONEncoder().encode(record)
                #expect(InstanceRecord(members: Array(text)) == record, "\(String(decoding: text, as: UTF8.self))")
            }
        }
    }

    @Test(arguments: [
        ("\"ann\"", "\"\\u0061nn\""), ("\"ann\"", "\"a\\\"n\""), ("\"ann\"", "7"), ("\"user\"", " \"user\""),
        ("\"user\"", "\"later\":[],\"user\""), ("\"epoch\":0", "\"epoch\":null"), ("\"epoch\":0", "\"epoch\":1e2"),
        ("\"epoch\":0,", ""),
    ])
    func aTextOfAnotherFormIsLeftToTheDecoder(_ part: String, _ other: String) throws {
        var record = try record()
        record.version = "1.0.0.0"
        let encoder = JSONEncoder()
        // In an order that is known: the epoch has a comma behind it.
        encoder.outputFormatting = .sortedKeys
        let text = String(decoding: try encoder.encode(record), as: UTF8.self)
        let changed = text.replacing(part, with: other)
        try #require(changed != text)
        #expect(InstanceRecord(members: Array(changed.utf8)) == nil)
    }

    @Test func noPrefixOfARecordIsARecord() throws {
        var record = try record()
        for edit in Self.edits { edit(&record) }
        let text = Array(try JSONEncoder().encode(record))
        for count in text.indices { #expect(InstanceRecord(members: Array(text[..<count])) == nil) }
        #expect(InstanceRecord(members: text + [UInt8(ascii: " ")]) == nil)
    }

    @Test func aRecordWithAnEscapedNameIsOpenedByTheFleet() throws {
        let key = try #require(FleetKey(FleetKey.generate()))
        var record = try record()
        record.user = "a\"b\n"
        let id = record.name.instance.description
        let body = try FleetRow([key.seal(record, table: "instance", row: id)]).bytes(0)
        #expect(try key.openInstance(body, row: id) == record)
        #expect(throws: GatewayError.self) { try key.openInstance(body, row: "another") }
    }
}
