import Testing

@testable import SallyportCommandLine

@Suite struct CommandFailureTests {
    @Test func aFailureIsOneLine() {
        let failure = CommandFailure(.usage, name: "usage", "First.\nSecond\u{1b}[31m\u{2028}third.", hint: "do this")
        #expect(failure.text(asJSON: false) == "sallyport: First. Second [31m third (do this)")
    }

    @Test func jsonHasCodeNameAndMessage() {
        let failure = CommandFailure(.notAuthorized, code: -302, name: "wiped", "Gone.")
        #expect(failure.text(asJSON: true) == #"{"error":{"code":-302,"message":"Gone.","name":"wiped"}}"#)
    }

    @Test func withoutAResultCodeItIsTheExitStatus() {
        #expect(CommandFailure(.unavailable, name: "unavailable", "No.").code == 69)
    }
}
