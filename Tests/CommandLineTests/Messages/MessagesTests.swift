import Foundation
import TestSupport
import Testing

@testable import SallyportCommandLine

/// Every message of the program stands in one reviewed file, `messages.txt`, with the command that produces it.
///
/// `Tests/Scripts/messages` checks that none is missing there. With `SALLYPORT_RECORD_MESSAGES=1` the file is written
/// anew: read the difference before it is committed.
///
/// Half a minute; under AddressSanitizer, beside other work, more than five.
@Suite(.timeLimit(.minutes(20))) struct MessagesTests {
    private static let isRecording = ProcessInfo.processInfo.environment["SALLYPORT_RECORD_MESSAGES"] == "1"

    @Test func theFileIsWrittenAsItIsRead() throws {
        let transcript = try Transcript.read()
        #expect(transcript.sections.count > 1 && transcript.sections.allSatisfy { !$0.entries.isEmpty })
        #expect(try transcript.text == String(contentsOf: Transcript.file, encoding: .utf8))
    }

    @Test func whatTheProgramSaysIsWhatWasReviewed() async throws {
        var transcript = try Transcript.read()
        try await withThrowingTaskGroup(of: (Int, Transcript.Section).self) { group in
            for (index, section) in transcript.sections.enumerated() {
                group.addTask { (index, try await Self.compared(section)) }
            }
            for try await (index, section) in group { transcript.sections[index] = section }
        }
        if Self.isRecording { try transcript.text.write(to: Transcript.file, atomically: true, encoding: .utf8) }
    }

    /// Runs the commands of a section, in their order, on a stage of its own.
    ///
    /// - Returns: the section with what they said.
    private static func compared(_ section: Transcript.Section) async throws -> Transcript.Section {
        var section = section
        let stage = try MessageStage()
        for (index, entry) in section.entries.enumerated() {
            guard let said = try await said(entry.subject, of: section, on: stage) else { continue }
            let shown = await stage.shown(in: said)
            #expect(shown.isEmpty, "\(entry.subject.text)\nsays a secret: \(shown)\n\(said.text)")
            let places = await stage.names
            let kept = await stage.named(said).keeping(entry.said, places: places)
            section.entries[index].said = kept
            guard !isRecording else { continue }
            let told: Comment = "\(entry.subject.text)\nsays\n\(kept.text)\nreviewed was\n\(entry.said.text)"
            #expect(kept.text == entry.said.text, told)
        }
        return section
    }

    /// Nil for what another suite produces.
    private static func said(
        _ subject: Transcript.Subject, of section: Transcript.Section, on stage: MessageStage
    ) async throws -> Said? {
        switch subject {
        case .command(let text):
            try await MessageCommand(text, on: stage, isRefused: section.title == "Words and options").run()
        case .value(let name): try await MessageValues.said(name, on: stage)
        case .test: nil
        }
    }

    @Test func everyValueIsReviewed() throws {
        let reviewed = try Transcript.read().sections.flatMap(\.entries).compactMap { entry in
            if case .value(let name) = entry.subject { name } else { nil }
        }
        #expect(Set(reviewed) == Set(MessageValues.names))
    }

    @Test(arguments: [
        ("no store at <store>.", true), ("no store at <none>.", false), ("no <thing> at <store>.", true),
        ("no store at <store>", false), ("<anything>", true), ("no store at <store>.<more>", false),
    ]) func aNameStandsForItsPlaceOrForAnyText(_ reviewed: String, _ matches: Bool) {
        let line = ReviewedLine(reviewed, places: ["store", "none"])
        #expect(line.matches("no store at <store>.") == matches)
    }
}
