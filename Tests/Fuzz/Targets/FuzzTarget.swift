/// One parser, and what must hold of it whatever it is given: it ends, it does not trap, and its properties stand.
struct FuzzTarget: Sendable, CustomStringConvertible {
    /// That of its folder in the corpus.
    let name: String
    /// What its inputs are made of; mutations put these in.
    let words: [String]
    private let body: @Sendable ([UInt8]) throws(BrokenProperty) -> Void

    init(_ name: String, words: [String] = [], _ body: @escaping @Sendable ([UInt8]) throws(BrokenProperty) -> Void) {
        (self.name, self.words, self.body) = (name, words, body)
    }

    /// A parser of text. What is no UTF-8 is repaired, as where bytes become text in the modules.
    init(
        _ name: String, text words: [String], _ body: @escaping @Sendable (String) throws(BrokenProperty) -> Void
    ) {
        self.init(name, words: words) { bytes throws(BrokenProperty) in
            try body(String(decoding: bytes, as: UTF8.self))
        }
    }

    func run(_ bytes: [UInt8]) throws(BrokenProperty) { try body(bytes) }

    var description: String { name }

    static let all =
        core + web + answers + cookies + wire + store + cache + gateway + plugins + kerberos + network + door
        + guarding
}

/// Something that must hold of a parser does not.
struct BrokenProperty: Error, CustomStringConvertible {
    let description: String
}

func demand(_ holds: Bool, _ property: @autoclosure () -> String) throws(BrokenProperty) {
    if !holds { throw BrokenProperty(description: property()) }
}

/// What is printed is read as the same again.
func demandRoundTrip<Value: Equatable>(
    _ value: Value, _ print: (Value) -> String, _ read: (String) throws -> Value?
) throws(BrokenProperty) {
    let text = print(value)
    try demand(
        (try? read(text)) == value, "\(Value.self) is read as another from what it prints: \(text.debugDescription)")
}
