/// A value that is encoded in JSON as its text, and validated when it is decoded.
package protocol TextCodable: Codable, LosslessStringConvertible {}

extension TextCodable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let value = Self(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "Not a \(Self.self).")
        }
        self = value
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
