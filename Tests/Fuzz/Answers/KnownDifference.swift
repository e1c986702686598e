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
    case closeByText

    /// - Parameter end: of the answer, as ours reads it.
    func explains(_ difference: Difference, of answer: AnswerCase, read meaning: Answer, end: Int?) -> Bool {
        let text = FramingText(bytes: answer.bytes[..<(end ?? answer.bytes.count)], body: meaning.body)
        switch self {
        case .foldedValue:
            return difference.isSameText(as: meaning, butIn: text.foldedNames)
                || difference.isRefusalByNIO && text.isRefusedAtFold(isHead: answer.isHead)
        case .spaceBehindValue:
            guard difference.reader == .nio else { return false }
            return text.hasSpaceBehindLine && difference.isTrimmed(to: meaning)
                || difference.isAboutFraming && text.hasLine { $0.framesBody && $0.hasSpaceBehind }
        case .repairedText: return difference.reader == .nio && difference.isSameText(as: meaning)
        case .bareLineFeed: return difference.isRefusalByNIO && text.hasBareLineFeed
        case .controlCharacter:
            return text.hasControl && (difference.isRefusalByNIO || difference.isSameText(as: meaning))
        case .chunkExtension: return difference.isRefusalByNIO && meaning.isChunked && text.hasExtension
        case .repeatedLength: return difference.isRefusalByNIO && meaning.lengthIsRepeated
        case .closingInterimAnswer:
            return difference.refusal == "data received after completed connection: close message"
        case .closeByText:
            guard case .closes = difference.kind else { return false }
            return difference.reader == .libcurl && text.hasLine { $0.looksLikeClose || $0.isOfHTTP10 }
        }
    }
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
        // Chunks that are not known as such have no trailers behind them.
        case .trailers(let theirs): theirs.isEmpty
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

    /// Whether only white space differs, and that only in fields with these names.
    fileprivate func isSameText(as meaning: Answer, butIn names: Set<String>) -> Bool {
        guard isSameText(as: meaning), let (ours, theirs) = fields(meaning) else { return false }
        return zip(ours, theirs).allSatisfy { $0.value == $1.value || names.contains($0.lowercasedName) }
    }

    fileprivate func isTrimmed(to meaning: Answer) -> Bool {
        guard let (ours, theirs) = fields(meaning), ours.count == theirs.count else { return false }
        return zip(ours, theirs).allSatisfy { $0.name == $1.name && $0.value == $1.trimmedValue }
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

    fileprivate var lowercasedName: String { String(decoding: name, as: UTF8.self).lowercased() }

    fileprivate func isNamed(_ name: String) -> Bool { lowercasedName == name }
}

extension Answer {
    fileprivate var isChunked: Bool { fields.contains { $0.isNamed("transfer-encoding") } }

    fileprivate var lengthIsRepeated: Bool {
        let lengths = fields.filter { $0.isNamed("content-length") }
        return lengths.count > 1 || lengths.contains { $0.value.contains(UInt8(ascii: ",")) }
    }
}
