import Foundation

/// Where a mutant is compiled in beside the original.
struct Site {
    enum Form { case statements, expression }

    /// The range that is duplicated: the contents of braces, or a property's initial value.
    let range: Range<Int>
    let form: Form
    /// The part of it that the mutant replaces.
    let core: Range<Int>
    let replacement: [UInt8]
    let number: UInt32

    init(_ mutant: Mutant, in bytes: [UInt8], _ blocks: Blocks, isC: Bool) throws {
        let found = bytes.ranges(of: Array(mutant.find.utf8))
        guard found.count == 1 else {
            throw Drift(mutant.name, "the check stands \(found.count) times in its file, not once")
        }
        let replacement = Array(mutant.replace.utf8)
        let rest = Self.difference(found[0], in: bytes, replacement)
        number = mutant.number
        if let body = blocks.innermost(around: found[0]) {
            (range, form, core, self.replacement) = (body, .statements, found[0], replacement)
        } else if let body = blocks.innermost(around: rest.0) {
            (range, form, core, self.replacement) = (body, .statements, rest.0, rest.1)
        } else if !isC, let value = Self.initialValue(around: rest.0, in: bytes) {
            (range, form, core, self.replacement) = (value, .expression, rest.0, rest.1)
        } else {
            throw Drift(mutant.name, "the check is neither in one body nor in one initial value of one property")
        }
    }

    /// The range and its replacement, without their common beginning and end.
    private static func difference(
        _ range: Range<Int>, in bytes: [UInt8], _ replacement: [UInt8]
    ) -> (Range<Int>, [UInt8]) {
        var (range, replacement) = (range, replacement[...])
        while let first = replacement.first, !range.isEmpty, bytes[range.lowerBound] == first {
            range = (range.lowerBound + 1)..<range.upperBound
            replacement.removeFirst()
        }
        while let last = replacement.last, !range.isEmpty, bytes[range.upperBound - 1] == last {
            range = range.lowerBound..<(range.upperBound - 1)
            replacement.removeLast()
        }
        return (range, Array(replacement))
    }

    /// The text after the `=` of `let` or `var`, to the end of the line on which all parentheses are closed.
    private static func initialValue(around core: Range<Int>, in bytes: [UInt8]) -> Range<Int>? {
        var start = core.lowerBound
        while start > 0 {
            start = (bytes[..<start].lastIndex(of: UInt8(ascii: "\n")) ?? -1) + 1
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
            let line = String(decoding: bytes[start..<end], as: UTF8.self)
            if let head = line.prefixMatch(of: /[a-z() ]*\b(let|var) \w+(: [^={]+)? =\s*/) {
                let value = start + head.output.0.utf8.count
                let range = value..<endOfValue(from: value, in: bytes)
                return range.lowerBound <= core.lowerBound && core.upperBound <= range.upperBound ? range : nil
            }
            start -= 1
        }
        return nil
    }

    private static func endOfValue(from start: Int, in bytes: [UInt8]) -> Int {
        var tokens = Tokens(bytes, isC: false, from: start)
        var (depth, end) = (0, start)
        while let token = tokens.next() {
            // Once nothing is open, a token on a later line begins something new.
            if depth == 0, end > start, bytes[end..<tokens.position].contains(UInt8(ascii: "\n")) { return end }
            switch token {
            case .mark(UInt8(ascii: "(")), .mark(UInt8(ascii: "[")), .mark(UInt8(ascii: "{")): depth += 1
            case .mark(UInt8(ascii: ")")), .mark(UInt8(ascii: "]")), .mark(UInt8(ascii: "}")): depth -= 1
            default: break
            }
            end = tokens.position
        }
        return end
    }
}
