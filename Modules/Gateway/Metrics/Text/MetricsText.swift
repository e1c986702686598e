/// Names, labels and numbers of Prometheus' text format, version 0.0.4.
enum MetricsText {
    /// The media type of the format.
    static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

    /// A metric's name: what the format does not allow in one becomes `_`, and the name ends as its kind demands.
    static func name(_ label: String, _ kind: MetricKind) -> String {
        let name = identifier(label, allowing: ":")
        return switch kind {
        case .counter where !name.hasSuffix("_total"): name + "_total"
        default: name
        }
    }

    /// `a="1",b="2"`: sorted by name, so that the same labels in another order are the same series.
    static func labels(_ dimensions: [(String, String)]) -> String {
        var values: [String: String] = [:]
        for (name, value) in dimensions {
            let name = labelName(name)
            if values[name] == nil { values[name] = value }
        }
        return values.sorted { $0.key < $1.key }.map { "\($0)=\"\(escaped($1, quotes: true))\"" }
            .joined(separator: ",")
    }

    /// The names that begin with two underscores, and `le`, which histograms use, have a meaning of their own.
    private static func labelName(_ text: String) -> String {
        let name = identifier(text)
        if name.hasPrefix("__") { return "label" + name }
        return name == "le" ? "label_le" : name
    }

    private static func identifier(_ text: String, allowing other: Unicode.Scalar? = nil) -> String {
        var name = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            let isLetter = ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || scalar == "_"
            let isDigit = ("0"..."9").contains(scalar)
            if isDigit && name.isEmpty { name.append("_") }
            name.append(isLetter || isDigit || scalar == other ? scalar : "_")
        }
        return name.isEmpty ? "_" : String(name)
    }

    /// A backslash and a line feed are escaped everywhere, a quotation mark in the value of a label only.
    static func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped.append(contentsOf: #"\\"#.unicodeScalars)
            case "\n": escaped.append(contentsOf: #"\n"#.unicodeScalars)
            case "\"" where quotes: escaped.append(contentsOf: #"\""#.unicodeScalars)
            default: escaped.append(scalar)
            }
        }
        return String(escaped)
    }

    /// A whole number without a fraction, `+Inf`, `-Inf`, `NaN`, or the shortest text of any other number.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        return Int64(exactly: value).map { "\($0)" } ?? "\(value)"
    }
}

/// The kinds of metrics, as the format spells them.
enum MetricKind: String, Sendable, Hashable {
    case counter, gauge, histogram
}
