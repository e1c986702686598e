/// A difference between ours and another reader that is as it should be. `Docs/BadInput.md` says why of each.
package enum KnownDifference: String, CaseIterable, Sendable {
    case foldedValue
    case spaceBehindValue
    case repairedText
    case bareLineFeed
    case controlCharacter
    case chunkExtension
    case repeatedLength
    case closingInterimAnswer
    case closeByPrefix

    /// - Parameter end: of the answer, as ours reads it.
    func explains(_ difference: Difference, of answer: AnswerCase, read meaning: Answer, end: Int?) -> Bool {
        let text = FramingText(bytes: answer.bytes[..<(end ?? answer.bytes.count)], body: meaning.body)
        switch self {
        case .foldedValue: return text.isFolded && (difference.isSameText(as: meaning) || difference.isRefusalByNIO)
        case .spaceBehindValue:
            return difference.reader == .nio && text.hasSpaceBehindLine
                && (difference.isTrimmed(to: meaning) || difference.isAboutFraming)
        case .repairedText: return difference.reader == .nio && difference.isSameText(as: meaning)
        case .bareLineFeed: return difference.isRefusalByNIO && text.hasBareLineFeed
        case .controlCharacter:
            return text.hasControl && (difference.isRefusalByNIO || difference.isSameText(as: meaning))
        case .chunkExtension: return difference.isRefusalByNIO && meaning.isChunked && text.hasExtension
        case .repeatedLength: return difference.isRefusalByNIO && meaning.lengthIsRepeated
        case .closingInterimAnswer:
            return difference.refusal == "data received after completed connection: close message"
        case .closeByPrefix:
            guard case .closes = difference.kind else { return false }
            return difference.reader == .libcurl
        }
    }
}

/// What of an answer is not its body.
private struct FramingText {
    let bytes: ArraySlice<UInt8>
    let body: [UInt8]

    /// Whether more bytes are such than the body has of them.
    private func has(_ isSuch: (_ byte: UInt8, _ last: UInt8) -> Bool) -> Bool {
        count(bytes, isSuch) > count(body[...], isSuch)
    }

    private func count(_ bytes: ArraySlice<UInt8>, _ isSuch: (UInt8, UInt8) -> Bool) -> Int {
        var (count, last) = (0, UInt8(0))
        for byte in bytes {
            if isSuch(byte, last) { count += 1 }
            last = byte
        }
        return count
    }

    var isFolded: Bool { has { byte, last in last == 10 && (byte == 32 || byte == 9) } }
    var hasSpaceBehindLine: Bool { has { byte, last in byte == 13 && (last == 32 || last == 9) } }
    var hasBareLineFeed: Bool { has { byte, last in byte == 10 && last != 13 } }
    var hasControl: Bool { has { byte, _ in byte < 32 && ![9, 10, 13].contains(byte) || byte == 127 } }
    /// Or white space behind a chunk's size.
    var hasExtension: Bool { has { byte, _ in byte == UInt8(ascii: ";") || byte == 32 || byte == 9 } }
}

extension Difference {
    fileprivate var refusal: String? {
        guard case .refuses(.refused(let reason)) = kind else { return nil }
        return reason
    }

    fileprivate var isRefusalByNIO: Bool { reader == .nio && refusal != nil }

    fileprivate var isAboutFraming: Bool {
        switch kind {
        case .body, .endsEarlier, .endsLater, .refuses: true
        default: false
        }
    }

    /// Both lists of fields where they differ.
    private func fields(_ meaning: Answer) -> (ours: [Answer.Field], theirs: [Answer.Field])? {
        switch kind {
        case .fields(let theirs): (meaning.fields, theirs)
        case .trailers(let theirs): (meaning.trailers, theirs)
        case .hints(let theirs): (meaning.hints.flatMap(\.self), theirs.flatMap(\.self))
        default: nil
        }
    }

    /// Whether only white space differs, and what is no UTF-8.
    fileprivate func isSameText(as meaning: Answer) -> Bool {
        guard let (ours, theirs) = fields(meaning), ours.count == theirs.count else { return false }
        return zip(ours, theirs).allSatisfy { $0.name == $1.name && $0.words == $1.words }
    }

    fileprivate func isTrimmed(to meaning: Answer) -> Bool {
        guard let (ours, theirs) = fields(meaning) else { return false }
        return zip(ours, theirs).allSatisfy { $0.value == $1.trimmedValue }
    }
}

extension Answer.Field {
    fileprivate var words: [String] {
        String(decoding: value, as: UTF8.self).unicodeScalars.split { 9...13 ~= $0.value || $0.value == 32 }
            .map { String(String.UnicodeScalarView($0)) }
    }

    fileprivate var trimmedValue: [UInt8] {
        Array(value.reversed().drop { $0 == 32 || $0 == 9 }.reversed())
    }

    fileprivate func isNamed(_ name: String) -> Bool {
        String(decoding: self.name, as: UTF8.self).lowercased() == name
    }
}

extension Answer {
    fileprivate var isChunked: Bool { fields.contains { $0.isNamed("transfer-encoding") } }

    fileprivate var lengthIsRepeated: Bool {
        let lengths = fields.filter { $0.isNamed("content-length") }
        return lengths.count > 1 || lengths.contains { $0.value.contains(UInt8(ascii: ",")) }
    }
}
