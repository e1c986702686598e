import ArgumentParser

/// The command that the arguments name, and a suggestion for the first word that is not a command.
struct CommandPath {
    /// `sallyport gateway run`
    let name: String
    /// Nil if the words name a command.
    let suggestion: String?

    init(arguments: [String], root: any ParsableCommand.Type) {
        var command = root
        var words = [Self.name(of: root)]
        var suggestion: String?
        for argument in arguments {
            let children = command.configuration.subcommands
            guard !children.isEmpty, !argument.hasPrefix("-") else { break }
            guard let child = children.first(where: { Self.name(of: $0) == argument }) else {
                suggestion = Self.suggest(
                    argument, after: words,
                    among: children.filter { $0.configuration.shouldDisplay }.map(Self.name(of:)))
                break
            }
            command = child
            words.append(argument)
        }
        name = words.joined(separator: " ")
        self.suggestion = suggestion
    }

    private static func name(of command: any ParsableCommand.Type) -> String { command._commandName }

    private static func suggest(_ word: String, after words: [String], among names: [String]) -> String? {
        guard word != "help" else { return nil }
        let unknown = "'\(words.joined(separator: " "))' has no command '\(OneLine.of(word))'"
        let near = names.map { ($0, EditDistance.between($0, word)) }.min { $0.1 < $1.1 }
        if let near, near.1 <= max(1, near.0.count / 3) { return "\(unknown). Did you mean '\(near.0)'?" }
        return "\(unknown); it has \(names.joined(separator: ", "))"
    }
}

/// How many letters two words differ by: changed, added, left out, or swapped with their neighbour.
enum EditDistance {
    static func between(_ left: String, _ right: String) -> Int {
        let left = Array(left.prefix(64))
        let right = Array(right.prefix(64))
        guard !left.isEmpty, !right.isEmpty else { return max(left.count, right.count) }
        var older: [Int] = []
        var previous = Array(0...right.count)
        for row in 1...left.count {
            var current = [row]
            for column in 1...right.count {
                let isSame = left[row - 1] == right[column - 1]
                var best = min(previous[column] + 1, current[column - 1] + 1, previous[column - 1] + (isSame ? 0 : 1))
                if row > 1, column > 1, left[row - 1] == right[column - 2], left[row - 2] == right[column - 1] {
                    best = min(best, older[column - 2] + 1)
                }
                current.append(best)
            }
            older = previous
            previous = current
        }
        return previous[right.count]
    }
}
