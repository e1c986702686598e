import SallyportBase
import SallyportCore
import Testing

@Suite struct RedactedTests {
    @Test func noDescriptionShowsTheValue() {
        let secret = Redacted("hunter2")
        var dumped = ""
        dump([secret], to: &dumped)
        let texts = [
            "\(secret)", secret.debugDescription, String(reflecting: [secret]), "\(Optional(secret) as Any)", dumped,
        ]
        #expect(texts.allSatisfy { !$0.contains("hunter2") })
        #expect(secret.reveal() == "hunter2")
    }

    @Test func identitiesDoNotShowTheirKey() {
        let identity = ClientIdentity(certificates: [[1]], privateKey: Redacted("PRIVATE"))
        #expect(!"\(identity)".contains("PRIVATE"))
    }
}
