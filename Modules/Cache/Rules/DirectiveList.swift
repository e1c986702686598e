/// The directives of one line: names in lower case, values without quotes.
///
/// Commas within quotes belong to a value. If a quote is never closed, quotes have no meaning from there on, so that
/// they cannot hide a directive.
struct DirectiveList: Sequence, IteratorProtocol {
    struct Directive: Hashable {
        var name: String
        var value: String?
    }

    private var rest: Substring.UTF8View
    /// Whether no quote that follows is closed: without this, each of many would be looked for to the end of the line.
    private var isUnclosed = false

    init(_ line: String) { rest = Substring(line).utf8 }

    mutating func next() -> Directive? {
        while !rest.isEmpty {
            let item = takeItem()
            if let directive = Self.directive(item) { return directive }
        }
        return nil
    }

    /// Up to the next comma outside quotes.
    private mutating func takeItem() -> Substring.UTF8View {
        let end = endOfItem()
        let item = rest[..<end]
        rest = end == rest.endIndex ? rest[end...] : rest[rest.index(after: end)...]
        return item
    }

    private mutating func endOfItem() -> Substring.UTF8View.Index {
        var index = rest.startIndex
        while index < rest.endIndex, rest[index] != UInt8(ascii: ",") {
            var close: Substring.UTF8View.Index?
            if !isUnclosed, rest[index] == UInt8(ascii: "\"") {
                close = closingQuote(after: index)
                isUnclosed = close == nil
            }
            index = rest.index(after: close ?? index)
        }
        return index
    }

    private func closingQuote(after start: Substring.UTF8View.Index) -> Substring.UTF8View.Index? {
        var index = rest.index(after: start)
        while index < rest.endIndex {
            if rest[index] == UInt8(ascii: "\"") { return index }
            if rest[index] == UInt8(ascii: "\\") {
                index = rest.index(after: index)
                guard index < rest.endIndex else { return nil }
            }
            index = rest.index(after: index)
        }
        return nil
    }

    private static func directive(_ item: Substring.UTF8View) -> Directive? {
        let equals = item.firstIndex(of: UInt8(ascii: "="))
        let name = String(Substring(item[..<(equals ?? item.endIndex)])).trimmed.lowercased()
        guard !name.isEmpty else { return nil }
        guard let equals else { return Directive(name: name, value: nil) }
        return Directive(name: name, value: unquoted(String(Substring(item[item.index(after: equals)...])).trimmed))
    }

    private static func unquoted(_ text: String) -> String {
        guard text.utf8.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") else { return text }
        var result: [UInt8] = []
        var isEscaped = false
        for byte in text.utf8.dropFirst().dropLast() {
            if !isEscaped, byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else {
                result.append(byte)
                isEscaped = false
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
