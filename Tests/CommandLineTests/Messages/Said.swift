/// What the program says: the lines of its standard output and of its standard error, and its exit status.
struct Said: Sendable, Equatable {
    var output: [String] = []
    var error: [String] = []
    var status: Int32

    /// As ``Transcript`` has it.
    var text: String {
        let lines = output.map { "| \($0)" } + error.map { "! \($0)" } + ["= \(status)"]
        return lines.map { $0.last == " " ? String($0.dropLast()) : $0 }.joined(separator: "\n")
    }

    /// The same with the lines of `reviewed` that match, so that recording keeps what stands there for any text.
    func keeping(_ reviewed: Said, places: Set<String>) -> Said {
        func kept(_ lines: [String], _ reviewed: [String]) -> [String] {
            lines.enumerated().map { index, line in
                guard index < reviewed.count, ReviewedLine(reviewed[index], places: places).matches(line) else {
                    return line
                }
                return reviewed[index]
            }
        }
        return Said(output: kept(output, reviewed.output), error: kept(error, reviewed.error), status: status)
    }
}

/// A line of the reviewed file. A name between angle brackets, such as `<pid>`, stands for any text; if it names a place
/// of the stage, it stands for that place only.
struct ReviewedLine {
    private let text: String
    private let places: Set<String>

    init(_ text: String, places: Set<String>) { (self.text, self.places) = (text, places) }

    func matches(_ line: String) -> Bool {
        var (pieces, rest) = ([""], text[...])
        for match in text.matches(of: /<([a-z][a-z-]*)>/) {
            pieces[pieces.count - 1] += rest[..<match.range.lowerBound]
            rest = text[match.range.upperBound...]
            if places.contains(String(match.output.1)) {
                pieces[pieces.count - 1] += match.output.0
            } else {
                pieces.append("")
            }
        }
        pieces[pieces.count - 1] += rest
        return Self.matches(line[...], pieces)
    }

    /// Whether the pieces stand in this order with some text between any two, the first at the start and the last at the
    /// end.
    private static func matches(_ line: Substring, _ pieces: [String]) -> Bool {
        guard pieces.count > 1, let first = pieces.first, let last = pieces.last else {
            return pieces == [String(line)]
        }
        guard line.hasPrefix(first) else { return false }
        var rest = line.dropFirst(first.count)
        for piece in pieces[1..<(pieces.count - 1)] {
            guard let found = rest.dropFirst().firstRange(of: piece) else { return false }
            rest = rest[found.upperBound...]
        }
        return rest.count > last.count && rest.hasSuffix(last)
    }
}
