package import FoundationEssentials

extension LoadRecord {
    /// One line of JSON, its fields in alphabetical order.
    public var json: String { Self.line(of: self) }

    /// A record of any kind as one line of JSON, its fields in alphabetical order.
    package static func line(of record: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // No number of a record is infinite, which is all that an encoder could refuse.
        return (try? encoder.encode(record)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    package static func text(_ date: Date) -> String {
        date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    package static var now: Date { Date() }
}

extension Duration {
    /// To the microsecond.
    package var seconds: Double {
        let (seconds, attoseconds) = components
        let microseconds = Double(seconds) * 1e6 + (Double(attoseconds) / 1e12).rounded()
        return microseconds / 1e6
    }
}
