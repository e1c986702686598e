/// Makes answers: most are right but for one thing or two, since what is wrong all over is refused at once.
package struct AnswerGenerator {
    private var random: SplitMix64
    private var bytes: [UInt8] = []

    package init(seed: UInt64) { random = SplitMix64(state: seed) }

    /// - Returns: an input for ``AnswerCase``.
    package mutating func next() -> [UInt8] {
        bytes = [UInt8(truncatingIfNeeded: random.next())]
        // Most are answers to a GET, which have bodies.
        if happens(3, in: 4) { bytes[0] &= 0x7f }
        if happens(1, in: 2) { bytes[0] &= 0x80 }
        while happens(1, in: 12) { interimHead() }
        finalAnswer()
        if happens(1, in: 8) { append(pick(AnswerWords.rests)) }
        if happens(1, in: 24) { bytes.removeLast(random.below(min(bytes.count, 12))) }
        while happens(1, in: 3) { mutate() }
        return bytes
    }

    // MARK: Heads

    private mutating func interimHead() {
        append(pick(AnswerWords.interimLines))
        lineBreak()
        while happens(1, in: 2) { field() }
        lineBreak()
    }

    private mutating func finalAnswer() {
        append(happens(4, in: 5) ? "HTTP/1.1 200 OK" : pick(AnswerWords.statusLines))
        lineBreak()
        let body = AnswerBody(rawValue: random.below(AnswerBody.allCases.count)) ?? .length
        let place = random.below(3)
        for number in 0..<3 {
            if number == place { framing(body) } else if happens(2, in: 3) { field() }
        }
        lineBreak()
        self.body(body)
    }

    private mutating func field() {
        if happens(5, in: 6) {
            append(pick(AnswerWords.fields))
        } else {
            append(pick(AnswerWords.oddFields))
        }
        lineBreak()
        if happens(1, in: 24) {
            append(pick([" ", "\t", "  \t", " folded", "\tfolded: x", "  a\u{1}", " 5", " chunked"]))
            lineBreak()
        }
    }

    private enum AnswerBody: Int, CaseIterable { case length, chunks, untilClose }

    private mutating func framing(_ body: AnswerBody) {
        if happens(1, in: 5) { return line(pick(AnswerWords.oddFraming)) }
        switch body {
        case .length: line("Content-Length: \(bodyLength)")
        case .chunks: line("Transfer-Encoding: chunked")
        case .untilClose: if happens(1, in: 2) { line("Connection: close") }
        }
        if happens(1, in: 16) { line(pick(AnswerWords.oddFraming)) }
    }

    private var bodyLength: Int { 5 }

    private mutating func line(_ text: String) {
        append(text)
        lineBreak()
    }

    private mutating func lineBreak() {
        append(happens(39, in: 40) ? "\r\n" : pick(["\n", "\r", "\r\r\n", "\n\r", "", " \r\n", "\r \n", "\0\r\n"]))
    }

    // MARK: Bodies

    private mutating func body(_ body: AnswerBody) {
        switch body {
        case .length: append(happens(7, in: 8) ? "hello" : pick(["hell", "hello!", "", "5\r\nhello\r\n0\r\n\r\n"]))
        case .untilClose: append(pick(["hello", "", "\r\n\r\n", "0\r\n\r\n"]))
        case .chunks: chunks()
        }
    }

    private mutating func chunks() {
        while happens(2, in: 3) { chunk() }
        append(
            happens(11, in: 12)
                ? "0" : pick(["00", "000000", "0000000000000000", "00000000000000000", "", "0x0", "-0"]))
        chunkLineEnd()
        while happens(1, in: 4) {
            append(happens(2, in: 3) ? pick(AnswerWords.fields) : pick(AnswerWords.oddFields + AnswerWords.oddFraming))
            lineBreak()
            if happens(1, in: 10) { line(" folded") }
        }
        lineBreak()
    }

    private mutating func chunk() {
        let size = happens(3, in: 4) ? 1 + random.below(8) : random.below(300)
        let digits = String(size, radix: 16, uppercase: happens(1, in: 2))
        append(happens(15, in: 16) ? digits : pick(AnswerWords.oddSizes))
        chunkLineEnd()
        for _ in 0..<size { bytes.append(happens(1, in: 6) ? UInt8(truncatingIfNeeded: random.next()) : 120) }
        lineBreak()
    }

    private mutating func chunkLineEnd() {
        if happens(1, in: 8) { append(pick(AnswerWords.extensions)) }
        lineBreak()
    }

    // MARK: Mutations

    private mutating func mutate() {
        let place = 1 + random.below(bytes.count)
        switch random.below(6) {
        case 0 where place < bytes.count: bytes[place] ^= 1 << UInt8(random.below(8))
        case 1 where place < bytes.count: bytes.remove(at: place)
        case 2: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: place)
        case 3 where place < bytes.count:
            bytes[place] = pick([0, 9, 10, 11, 12, 13, 32, 58, 44, 59, 127, 128, 160, 255])
        case 4 where place < bytes.count:
            let piece = bytes[place..<min(bytes.count, place + 1 + random.below(24))]
            bytes.insert(contentsOf: piece, at: 1 + random.below(bytes.count))
        default: bytes.insert(contentsOf: pick(AnswerWords.splinters).utf8, at: place)
        }
    }

    // MARK: Chance

    private mutating func happens(_ part: Int, in whole: Int) -> Bool { random.below(whole) < part }

    private mutating func pick<Item>(_ items: [Item]) -> Item { items[random.below(items.count)] }

    private mutating func append(_ text: String) { bytes += text.utf8 }
}
