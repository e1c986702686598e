import ArgumentParser
import Testing

@testable import SallyportCommandLine

@Suite struct CommandPathTests {
    @Test(arguments: [
        ("fecth", "fetch"), ("gatway", "gateway"), ("Status", "status"), ("explian", "explain"),
    ])
    func nearWordIsSuggested(word: String, meant: String) {
        let path = CommandPath(arguments: [word], root: SallyportProgram.self)
        #expect(path.suggestion == "'sallyport' has no command '\(word)'. Did you mean '\(meant)'?")
    }

    @Test func farWordIsAnsweredWithAllThereIs() {
        let path = CommandPath(arguments: ["gateway", "xyzzy"], root: SallyportProgram.self)
        let all = "init, run, certificate, authority, invite, join, fleet, guard, acl-helper"
        #expect(path.suggestion == "'sallyport gateway' has no command 'xyzzy'; it has \(all)")
    }

    @Test func knownWordsNameTheCommand() {
        let path = CommandPath(arguments: ["admin", "user", "add", "--data"], root: SallyportProgram.self)
        #expect(path.name == "sallyport admin user add")
        #expect(path.suggestion == nil)
    }

    /// ArgumentParser derives a name that is missing from the type's, for all commands at each start of the program: with
    /// 50 such commands that was a third of the start.
    @Test func eachCommandSaysItsName() {
        func check(_ command: any ParsableCommand.Type) {
            #expect(command.configuration.commandName != nil, "\(command)")
            command.configuration.subcommands.forEach(check)
        }
        check(SallyportProgram.self)
    }

    @Test(arguments: [("", "abc", 3), ("abc", "abc", 0), ("abc", "acb", 1), ("kitten", "sitting", 3), ("a", "", 1)])
    func distanceCountsEdits(left: String, right: String, distance: Int) {
        #expect(EditDistance.between(left, right) == distance)
        #expect(EditDistance.between(right, left) == distance)
    }
}
