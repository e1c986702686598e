import SallyportCore
import SallyportTransport
import Testing

@testable import SallyportURLLoading

@Suite struct PinConfigurationTests {
    private let key: PublicKeyPin
    private let backup: PublicKeyPin

    init() throws {
        key = try #require(PublicKeyPin(sha256: [UInt8](repeating: 1, count: 32)))
        backup = try #require(PublicKeyPin(sha256: [UInt8](repeating: 2, count: 32)))
    }

    @Test func aHostIsPinnedUnderItsOneSpelling() throws {
        var configuration = SessionConfiguration()
        try configuration.pin("Reports.Corp.Example.", to: key, backups: [backup])
        #expect(try configuration.pins == [Host("reports.corp.example"): [key, backup]])
    }

    @Test func aPinWithoutABackupIsRefused() {
        var configuration = SessionConfiguration()
        for backups in [[], [key]] as [Set<PublicKeyPin>] {
            let error = #expect(throws: LoadError.self) {
                try configuration.pin("a.example", to: key, backups: backups)
            }
            #expect(error?.code == .invalidRequest)
        }
        #expect(throws: LoadError.self) { try configuration.pin("a b", to: key, backups: [backup]) }
        #expect(configuration.pins.isEmpty)
    }

    @Test func theSessionsExchangesCarryThePins() async throws {
        let fixture = Fixture()
        var configuration = SessionConfiguration()
        try configuration.pin("a.example", to: key, backups: [backup])
        _ = try await fixture.loading.makeSession(configuration).text("https://a.example/")
        #expect(fixture.client.exchanges.first?.path.pins == configuration.pins)
    }

    @Test func aPinIsReadAndWritten() {
        let text = "sha256/\(String(repeating: "AQEB", count: 10))AQE="
        #expect(PublicKeyPin(text) == key && key.description == text)
        #expect(PublicKeyPin(String(text.dropFirst(7))) == key)
    }

    @Test(arguments: [
        "", "sha256/", "sha1/AQEBAQEB", "sha256/AQEB", "sha256/????????????????????????????????????????????",
    ])
    func otherTextIsNoPin(_ text: String) { #expect(PublicKeyPin(text) == nil) }
}
