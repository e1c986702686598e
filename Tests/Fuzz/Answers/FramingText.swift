/// What of an answer is not its body.
struct FramingText {
    let bytes: ArraySlice<UInt8>
    let body: [UInt8]

    /// A line of it, without its line break.
    struct Line {
        private let bytes: ArraySlice<UInt8>

        init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes.last == 13 ? bytes.dropLast() : bytes }

        /// In lower case; all of a line that has no colon.
        var name: String { lowercased(bytes.prefix { $0 != UInt8(ascii: ":") }) }
        /// It continues the value above it.
        var isFold: Bool { isSpace(bytes.first) }
        var framesBody: Bool { ["content-length", "transfer-encoding"].contains(name) }
        var hasSpaceBehind: Bool { isSpace(bytes.last) }
        var isOfHTTP10: Bool { bytes.starts(with: "HTTP/1.0".utf8) }

        /// Whether libcurl takes it for the announcement that the connection is closed: it looks for the word anywhere
        /// in the value.
        var looksLikeClose: Bool { name == "connection" && lowercased(bytes).contains("close") }

        private func isSpace(_ byte: UInt8?) -> Bool { byte == 32 || byte == 9 }

        private func lowercased(_ bytes: ArraySlice<UInt8>) -> String {
            String(decoding: bytes, as: UTF8.self).lowercased()
        }
    }

    private static func lines(_ bytes: ArraySlice<UInt8>) -> [Line] {
        bytes.split(separator: 10, omittingEmptySubsequences: false).map { Line($0) }
    }

    /// Whether more lines are such than the body has of them.
    func hasLine(_ isSuch: (Line) -> Bool) -> Bool {
        Self.lines(bytes).count(where: isSuch) > Self.lines(body[...]).count(where: isSuch)
    }

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

    /// Names of the fields whose values are folded, in lower case.
    var foldedNames: Set<String> {
        var names: Set<String> = []
        var last = ""
        for line in Self.lines(bytes) {
            if line.isFold { names.insert(last) } else { last = line.name }
        }
        return names
    }

    var isFolded: Bool { has { byte, last in last == 10 && (byte == 32 || byte == 9) } }
    var hasSpaceBehindLine: Bool { has { byte, last in byte == 13 && (last == 32 || last == 9) } }
    var hasBareLineFeed: Bool { has { byte, last in byte == 10 && last != 13 } }
    var hasControl: Bool { has { byte, _ in byte < 32 && ![9, 10, 13].contains(byte) || byte == 127 } }
    /// Or white space behind a chunk's size.
    var hasExtension: Bool { has { byte, _ in byte == UInt8(ascii: ";") || byte == 32 || byte == 9 } }

    /// Whether the first byte that swift-nio's parser refuses begins a line with which a value goes on.
    func isRefusedAtFold(isHead: Bool) -> Bool {
        guard isFolded, let place = NIOReader.placeOfRefusal(bytes, isHead: isHead), place > bytes.startIndex else {
            return false
        }
        return bytes[place - 1] == 10 && (bytes[place] == 32 || bytes[place] == 9)
    }
}
