import FoundationEssentials

/// One JSON value per command, with sorted keys so that outputs can be compared.
enum JSONOutput {
    static func text(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        // Our own values have neither non-finite numbers nor invalid text, so that encoding cannot fail.
        guard let data = try? encoder.encode(value) else { return "{}" }
        return String(decoding: data, as: UTF8.self)
    }
}
