internal import FoundationEssentials

/// JSON (RFC 8259) within limits; the project's only reader and writer of JSON.
package enum WireJSON {
    /// The deepest nesting of arrays and objects.
    package static let maximumDepth = 32

    /// - Parameters:
    ///   - limit: in bytes.
    ///   - deepest: the deepest nesting.
    package static func decode<Value: Decodable>(
        _ type: Value.Type, from bytes: [UInt8], limit: Int, deepest: Int = maximumDepth
    ) throws(WireError) -> Value {
        guard bytes.count <= limit else { throw WireError(.tooLarge, "The JSON is longer than \(limit) bytes.") }
        guard depth(of: bytes) <= deepest else {
            throw WireError(.tooLarge, "The JSON nests deeper than \(deepest).")
        }
        do {
            return try JSONDecoder().decode(type, from: Data(bytes))
        } catch let error as WireError {
            throw error
        } catch let error as DecodingError {
            throw WireError(.malformed, "The JSON is not of the expected form\(place(of: error)).")
        } catch {
            throw WireError(.malformed, "The text is not JSON.")
        }
    }

    /// Sorted keys and no line breaks, so that equal values have equal bytes.
    package static func encode(_ value: some Encodable) throws(WireError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return Array(try encoder.encode(value))
        } catch {
            throw WireError(.malformed, "A value has no form in JSON.", underlying: error)
        }
    }

    /// The deepest nesting, counted in the bytes, so that the limit is checked before a decoder recurses.
    private static func depth(of bytes: [UInt8]) -> Int {
        var depth = 0
        var deepest = 0
        var isInString = false
        var isEscaped = false
        for byte in bytes {
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                deepest = max(deepest, depth)
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            default: break
            }
        }
        return deepest
    }

    /// Where decoding stopped, as a path of keys; only keys of our own formats, and shortened.
    private static func place(of error: DecodingError) -> String {
        let context: DecodingError.Context? =
            switch error {
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
                .dataCorrupted(let context):
                context
            @unknown default: nil
            }
        let path = context?.codingPath.prefix(6).map(\.stringValue).joined(separator: ".") ?? ""
        return path.isEmpty ? "" : " at \(path.prefix(60))"
    }
}

/// Any JSON value: used for a policy that is passed on unchanged.
package enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])
}

extension JSONValue: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            // A whole number is written without a decimal point, and is then read as an integer.
            self = Int64(exactly: value).map(JSONValue.integer) ?? .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}
