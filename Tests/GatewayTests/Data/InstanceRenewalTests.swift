import Foundation
import SallyportWire
import Testing

@testable import SallyportGateway

/// Whether an instance gets another certificate is decided before one is signed.
@Suite struct InstanceRenewalTests {
    struct Refusal: Sendable {
        let code: GatewayError.Code
        var isEntitled = true
        var edit: @Sendable (inout InstanceRecord) -> Void = { _ in }
    }

    private static let refusals = [
        Refusal(code: .forbidden) { $0.end(.wiped, at: .distantPast) },
        Refusal(code: .forbidden, isEntitled: false),
        Refusal(code: .unauthorized) { $0.certificate.serial = "02" },
        Refusal(code: .retired) {
            $0.retiredSerials = [$0.certificate.serial]
            $0.certificate.serial = "02"
        },
    ]

    private func record() throws -> InstanceRecord {
        let name = try #require(InstanceName("sallyport://com.example.report/\(InstanceIdentifier())"))
        return InstanceRecord(
            name: name, user: "ann", userID: UserIdentifier(), certificate: .init(serial: "01", end: .distantFuture),
            activated: .distantPast)
    }

    @Test(arguments: refusals) func noCertificateIsMadeForAnInstanceThatGetsNone(_ refusal: Refusal) throws {
        var record = try record()
        refusal.edit(&record)
        let before = record
        #expect(throws: GatewayError(refusal.code, "")) {
            try record.renew(for: Data([1]), presenting: "01", isEntitled: refusal.isEntitled, at: Date()) {
                Issue.record("a certificate was made")
                return []
            }
        }
        #expect(record == before)
    }

    @Test func anInstanceThatGetsACertificateHasItFromThenOn() throws {
        var record = try record()
        let made = try record.renew(for: Data([1]), presenting: "01", isEntitled: true, at: Date()) { [1, 2, 3] }
        #expect(made == [1, 2, 3])
        #expect(record.renewal?.certificate == Data(made) && record.renewed != nil)
        #expect(record.certificate.serial == "01")
    }
}
