/// Ours beside libcurl and swift-nio: what ours accepts both others accept with the same meaning, or the difference is one of
/// the ``KnownDifference``s.
package final class AnswerComparison {
    package enum Verdict: Equatable, Sendable {
        case acceptedByAll
        /// Ours accepts it; each difference is a known one.
        case known(Set<KnownDifference>)
        /// How many of the others accept it.
        case refusedByOurs(accepted: Int)
        /// Ours accepts what another refuses or reads otherwise.
        case finding(String)
    }

    private let curl = CurlReader()
    private var count = 0
    private var memory = OwnReader.Memory()

    package init() {}

    package func compare(_ answer: AnswerCase) -> Verdict {
        count += 1
        let pieces = answer.pieces()
        var none = OwnReader.Memory()
        let own = OwnReader.read(pieces, isHead: answer.isHead, after: &none)
        let next = OwnReader.read(pieces, isHead: answer.isHead, after: &memory)
        guard own == next else { return .finding("after another answer on its connection it is read as \(next)") }
        guard case .whole(let meaning, let end) = own else {
            let others = [
                curl.read(pieces, isHead: answer.isHead).reading, NIOReader.read(pieces, isHead: answer.isHead).0,
            ]
            return .refusedByOurs(accepted: others.count { $0.isWhole })
        }
        var differences = curlDifferences(answer, meaning, end)
        differences += nioDifferences(answer, meaning, end)
        return verdict(differences, answer, meaning, end)
    }

    private func verdict(
        _ differences: [Difference], _ answer: AnswerCase, _ meaning: Answer, _ end: Int?
    ) -> Verdict {
        var known: Set<KnownDifference> = []
        for difference in differences {
            let reason = KnownDifference.allCases.first {
                $0.explains(difference, of: answer, read: meaning, end: end)
            }
            guard let reason else { return .finding("\(difference)") }
            known.insert(reason)
        }
        return known.isEmpty ? .acceptedByAll : .known(known)
    }

    // MARK: The others

    /// libcurl must not read beyond the end, and must not have enough before it.
    private func curlDifferences(_ answer: AnswerCase, _ meaning: Answer, _ end: Int?) -> [Difference] {
        let pieces = answer.pieces(borders: end.map { [$0] } ?? [])
        let outcome = curl.read(pieces, isHead: answer.isHead)
        guard let theirs = outcome.reading.answer else { return [Difference(.libcurl, .refuses(outcome.reading))] }
        var differences = meaning.differences(from: theirs, by: .libcurl)
        guard let end else { return differences }
        if outcome.unread != answer.bytes.count - end { differences.append(Difference(.libcurl, .endsLater)) }
        if meaning.keepsConnection && end == answer.bytes.count && !outcome.keepsConnection {
            differences.append(Difference(.libcurl, .closes))
        }
        if !meaning.body.isEmpty, count % 8 == 0, endsEarlier(answer, end) {
            differences.append(Difference(.libcurl, .endsEarlier))
        }
        return differences
    }

    /// Whether libcurl has enough before the end. It costs a second transfer.
    ///
    /// Two bytes before: for the last line feed behind chunks libcurl takes the end of the connection, as it takes that for the
    /// end of a head.
    private func endsEarlier(_ answer: AnswerCase, _ end: Int) -> Bool {
        let isChunked = answer.bytes[..<end].last == 10
        return curl.read(answer.pieces(upTo: end - (isChunked ? 2 : 1)), isHead: answer.isHead).reading.isWhole
    }

    private func nioDifferences(_ answer: AnswerCase, _ meaning: Answer, _ end: Int?) -> [Difference] {
        let pieces = answer.pieces(upTo: end, borders: end.map { [$0 - 1] } ?? [])
        let (reading, endsWithLastPiece) = NIOReader.read(pieces, isHead: answer.isHead)
        if case .cut = reading, end != nil { return [Difference(.nio, .endsLater)] }
        guard case .whole(let theirs, let theirEnd) = reading else { return [Difference(.nio, .refuses(reading))] }
        var differences = meaning.differences(from: theirs, by: .nio)
        if meaning.hints != theirs.hints { differences.append(Difference(.nio, .hints(theirs.hints))) }
        if end == nil, theirEnd != nil { differences.append(Difference(.nio, .endsEarlier)) }
        if end != nil, theirEnd == nil { differences.append(Difference(.nio, .endsLater)) }
        if end != nil, theirEnd != nil, !endsWithLastPiece { differences.append(Difference(.nio, .endsEarlier)) }
        return differences
    }
}

/// What another reader makes otherwise of an answer that ours accepts.
package struct Difference: CustomStringConvertible {
    package enum Reader { case libcurl, nio }
    package enum Kind {
        case refuses(Reading)
        case status(Int)
        case fields([Answer.Field])
        case trailers([Answer.Field])
        case body
        case hints([[Answer.Field]])
        /// It takes fewer bytes, or more.
        case endsEarlier, endsLater
        /// It keeps no connection that ours keeps.
        case closes
    }

    package let reader: Reader
    package let kind: Kind

    init(_ reader: Reader, _ kind: Kind) { (self.reader, self.kind) = (reader, kind) }

    package var description: String { "\(reader) \(kind)" }
}

extension Answer {
    fileprivate func differences(from other: Answer, by reader: Difference.Reader) -> [Difference] {
        var kinds: [Difference.Kind] = []
        if status != other.status { kinds.append(.status(other.status)) }
        if fields != other.fields { kinds.append(.fields(other.fields)) }
        if body != other.body { kinds.append(.body) }
        if trailers != other.trailers { kinds.append(.trailers(other.trailers)) }
        return kinds.map { Difference(reader, $0) }
    }
}

extension Answer.Field: CustomStringConvertible {
    package var description: String {
        "\(String(decoding: name, as: UTF8.self).debugDescription)=\(String(decoding: value, as: UTF8.self).debugDescription)"
    }
}
