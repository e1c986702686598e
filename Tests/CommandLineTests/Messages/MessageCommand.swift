import Foundation
import TestSupport

@testable import SallyportCommandLine

/// A command as the transcript has it, a line of a shell: words, some of them in single quotes, with places of the stage
/// between angle brackets. Standard input comes from a file (`< FILE`) or from `printf 'TEXT' |`, and is empty otherwise.
/// Standard output may go to `/dev/null`. With `&` at its end, the program is asked to stop once it has printed a line.
struct MessageCommand {
    var words: [String] = []
    var input = ""
    var environment = ["SALLYPORT_STORE": "", "SALLYPORT_DATA": ""]
    var dropsOutput = false
    var isStopped = false
    /// Without a terminal, which the program would ask.
    var isDetached = false
    /// Whether this process holds a store of the command open: it would be told of that, and not of another process.
    private let isHeld: Bool
    private let isRefused: Bool

    /// - Parameter isRefused: whether the parser refuses the command, so that it cannot change the process.
    init(_ text: String, on stage: MessageStage, isRefused: Bool) async throws {
        self.isRefused = isRefused
        isHeld = text.contains("<busy>")
        var tokens: [String] = []
        for token in Self.tokens(of: text) { tokens.append(try await stage.resolved(token)) }
        if tokens.first == "printf", tokens.count > 3 {
            input = tokens[1].replacing("\\n", with: "\n").replacing("\\t", with: "\t")
            tokens.removeFirst(3)
        }
        isDetached = tokens.prefix(2) == ["setsid", "--wait"]
        if isDetached { tokens.removeFirst(2) }
        while let token = tokens.first, token != "sallyport" {
            let parts = token.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { throw Unexpected("No command of the program: \(text)") }
            environment[parts[0]] = parts[1]
            tokens.removeFirst()
        }
        try take(tokens.dropFirst())
    }

    private mutating func take(_ tokens: ArraySlice<String>) throws {
        var rest = tokens
        while let token = rest.popFirst() {
            switch token {
            case "<": input = try String(contentsOfFile: rest.popFirst() ?? "", encoding: .utf8)
            case ">": dropsOutput = rest.popFirst() == "/dev/null"
            case "&": isStopped = true
            default: words.append(token)
            }
        }
    }

    private static func tokens(of text: String) -> [String] {
        var (tokens, token, isQuoted, isEmpty) = ([String](), "", false, true)
        for character in text {
            if character == "'" {
                isQuoted.toggle()
                isEmpty = false
            } else if character == " ", !isQuoted {
                if !isEmpty { tokens.append(token) }
                (token, isEmpty) = ("", true)
            } else {
                token.append(character)
                isEmpty = false
            }
        }
        return isEmpty ? tokens : tokens + [token]
    }

    // MARK: Running

    /// Commands that only read and write a store are run in this process, and so are those that the parser refuses. The
    /// others change the process: they handle signals, keep it out of core dumps, or become another program.
    private var isRunHere: Bool {
        let changeNothing = ["status", "explain", "store", "cookies", "cache", "tickets", "ssh-config"]
        let isPlain = environment.count == 2 && !isStopped && !isHeld && !isDetached
        return isPlain && (isRefused || changeNothing.contains(words.first ?? ""))
    }

    func run() async throws -> Said {
        let said = isRunHere ? try await runHere() : try await runAsChild()
        return Said(output: dropsOutput ? [] : said.output, error: said.error, status: said.status)
    }

    private func runHere() async throws -> Said {
        let folder = try TemporaryDirectory()
        try folder.write(input, to: "in")
        let flags = O_WRONLY | O_CREAT | O_CLOEXEC
        var workplace = Workplace(defaultStore: "")
        workplace.input = open(folder.file("in"), O_RDONLY | O_CLOEXEC)
        workplace.output = open(folder.file("out"), flags, 0o600)
        workplace.error = open(folder.file("err"), flags, 0o600)
        defer { for stream in [workplace.input, workplace.output, workplace.error] { close(stream) } }
        let status = await Workplace.$current.withValue(workplace) { await SallyportProgram.run(words) }
        let texts = try ["out", "err"].map { try String(contentsOfFile: folder.file($0), encoding: .utf8) }
        return Said(output: Self.lines(texts[0]), error: Self.lines(texts[1]), status: status.rawValue)
    }

    private func runAsChild() async throws -> Said {
        let program = Programs.built("sallyport")
        let wrapped = ["setsid", "--wait", program] + words
        let child = try ChildProcess(
            isDetached ? "/usr/bin/env" : program, isDetached ? wrapped : words, input: input, environment: environment)
        if isStopped {
            _ = try await eventually { child.output.hasSuffix("\n") || !child.isRunning }
            child.signal(SIGTERM)
        }
        let outcome = try await child.outcome(within: .seconds(30))
        return Said(output: Self.lines(outcome.output), error: Self.lines(outcome.error), status: outcome.status)
    }

    private static func lines(_ text: String) -> [String] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        return lines.last == "" ? lines.dropLast() : lines
    }
}
