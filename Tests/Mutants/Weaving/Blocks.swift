/// The braces in a source that contain statements: bodies of functions, accessors and closures, and blocks inside them.
struct Blocks {
    /// The ranges between the braces, after a closure's `in`.
    private(set) var bodies: [Range<Int>] = []
    private var frames = [Frame(kind: .other, start: 0)]
    private var last: Tokens.Token?

    private enum Kind { case statements, other }

    /// What was read so far between two braces.
    private struct Frame {
        var kind: Kind
        var start: Int
        /// The number of open parentheses and brackets.
        var depth = 0
        /// The first word of the present declaration or statement.
        var keyword: String?
        var isLoopSeen = false
        var isEmpty = true
    }

    /// The innermost body that contains all of a range.
    func innermost(around range: Range<Int>) -> Range<Int>? {
        bodies.filter { $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound }.min {
            $0.count < $1.count
        }
    }

    init(_ bytes: [UInt8], isC: Bool) {
        var tokens = Tokens(bytes, isC: isC)
        while let token = tokens.next() {
            switch token {
            case .word(let word): isC ? () : take(word, endingAt: tokens.position)
            case .mark(let mark): take(mark, endingAt: tokens.position, isC: isC)
            case .literal: break
            }
            if token != .mark(UInt8(ascii: "{")) { frames[frames.count - 1].isEmpty = false }
            last = token
        }
    }

    private mutating func take(_ word: String, endingAt end: Int) {
        let index = frames.count - 1
        // The first word tells the kind of the braces: cases of a `switch`, or accessors of a property.
        if frames[index].isEmpty, Self.firstOfOthers.contains(word) || isAccessor(word) { frames[index].kind = .other }
        guard frames[index].depth == 0, last != .mark(UInt8(ascii: ".")), last != .mark(UInt8(ascii: "`")) else {
            return
        }
        if word == "for" { frames[index].isLoopSeen = true }
        if word == "in", !frames[index].isLoopSeen { frames[index].start = end }
        if Self.keywords.contains(word), !isNamed { frames[index].keyword = word }
    }

    private mutating func take(_ mark: UInt8, endingAt end: Int, isC: Bool) {
        let index = frames.count - 1
        switch mark {
        case UInt8(ascii: "("), UInt8(ascii: "["): frames[index].depth += 1
        case UInt8(ascii: ")"), UInt8(ascii: "]"): frames[index].depth -= 1
        case UInt8(ascii: ";"): frames[index].keyword = nil
        case UInt8(ascii: "{"):
            frames.append(Frame(kind: isC ? kindInC : kind, start: end))
        case UInt8(ascii: "}") where frames.count > 1:
            let frame = frames.removeLast()
            if frame.kind == .statements { bodies.append(frame.start..<(end - 1)) }
            if frames[frames.count - 1].depth == 0 { frames[frames.count - 1].keyword = nil }
        default: break
        }
    }

    /// The kind of the braces that open now.
    private var kind: Kind {
        let frame = frames[frames.count - 1]
        guard frame.depth == 0, let keyword = frame.keyword else { return .statements }
        return Self.types.contains(keyword) ? .other : .statements
    }

    private var kindInC: Kind {
        switch last {
        case .mark(UInt8(ascii: ")")), .word("else"), .word("do"): .statements
        default: .other
        }
    }

    private func isAccessor(_ word: String) -> Bool {
        guard frames.count > 1, ["var", "subscript"].contains(frames[frames.count - 2].keyword) else { return false }
        return ["get", "set", "willSet", "didSet", "_read", "_modify", "mutating", "nonmutating"].contains(word)
    }

    /// Whether the next word is the name of a declaration.
    private var isNamed: Bool {
        guard case .word(let word) = last else { return false }
        return ["func", "let", "var", "case"].contains(word) || Self.types.subtracting(["class"]).contains(word)
    }

    private static let firstOfOthers: Set = ["case", "default"]
    private static let types: Set = ["struct", "class", "enum", "actor", "extension", "protocol"]
    private static let keywords = types.union([
        "func", "init", "deinit", "subscript", "var", "let", "case", "if", "for", "while", "guard", "switch", "do",
        "repeat",
        "catch", "else", "defer", "return",
    ])
}
