import Foundation
import TestSupport

/// The reviewed file of messages, `messages.txt`: commands, and what the program says to each.
///
///     $ sallyport store stat --store <none>
///     ! sallyport: There is no store at <none> (…)
///     = 64
///
/// The first line of an entry is a command (`$`, see ``MessageCommand``), a value of ``MessageValues`` (`*`), or the name
/// of the test in another suite that produces the message (`@`). Then follow the lines of standard output (`|`) and of
/// standard error (`!`), and the exit status (`=`). Entries stand in sections, whose titles begin with `##`.
struct Transcript: Sendable {
    enum Subject: Sendable, Hashable {
        case command(String), value(String), test(String)
    }

    struct Entry: Sendable {
        /// The comment before it.
        var remarks: [String] = []
        var subject: Subject
        var said: Said
    }

    struct Section: Sendable {
        var title: String
        var remarks: [String] = []
        var entries: [Entry] = []
    }

    var preface: [String] = []
    var sections: [Section] = []

    static let file = Programs.repository.appending(path: "Tests/CommandLineTests/Messages/messages.txt")

    static func read() throws -> Transcript { try Transcript(String(contentsOf: file, encoding: .utf8)) }

    init(_ text: String) throws {
        for block in text.trimmingCharacters(in: .newlines).split(separator: "\n\n") {
            try add(block.split(separator: "\n", omittingEmptySubsequences: false).map(String.init))
        }
    }

    private mutating func add(_ lines: [String]) throws {
        let remarks = Array(lines.prefix { $0.hasPrefix("#") })
        guard remarks.count < lines.count else {
            guard let title = remarks.first, title.hasPrefix("## ") else { return preface += remarks }
            return sections.append(Section(title: String(title.dropFirst(3)), remarks: Array(remarks.dropFirst())))
        }
        guard !sections.isEmpty else { throw Unexpected("An entry stands before the first section: \(lines)") }
        sections[sections.count - 1].entries.append(
            Entry(
                remarks: remarks, subject: try Subject(lines[remarks.count]),
                said: try Said(lines[(remarks.count + 1)...])))
    }

    var text: String {
        let blocks = [preface.joined(separator: "\n")] + sections.flatMap(\.blocks)
        return blocks.joined(separator: "\n\n") + "\n"
    }
}

extension Transcript.Section {
    var blocks: [String] {
        let heading = (["## \(title)"] + remarks).joined(separator: "\n")
        return [heading] + entries.map { ($0.remarks + [$0.subject.text, $0.said.text]).joined(separator: "\n") }
    }
}

extension Transcript.Subject {
    init(_ line: String) throws {
        switch line.prefix(2) {
        case "$ ": self = .command(String(line.dropFirst(2)))
        case "* ": self = .value(String(line.dropFirst(2)))
        case "@ ": self = .test(String(line.dropFirst(2)))
        default: throw Unexpected("An entry begins with $, * or @: \(line)")
        }
    }

    var text: String {
        switch self {
        case .command(let text): "$ \(text)"
        case .value(let name): "* \(name)"
        case .test(let name): "@ \(name)"
        }
    }
}

extension Said {
    fileprivate init(_ lines: ArraySlice<String>) throws {
        self.init(status: -1)
        for line in lines {
            switch line.first {
            case "|": output.append(String(line.dropFirst(2)))
            case "!": error.append(String(line.dropFirst(2)))
            case "=":
                guard let status = Int32(line.dropFirst(2)) else { throw Unexpected("No status: \(line)") }
                self.status = status
            default: throw Unexpected("A line begins with |, ! or =: \(line)")
            }
        }
    }
}
