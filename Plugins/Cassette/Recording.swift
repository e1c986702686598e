internal import FoundationEssentials
internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore

/// The exchanges of a cassette, in the order in which they began: the content of its file.
public struct Recording: Sendable {
    /// The version that is written, and the latest that can be read.
    public static let version = 1
    static let format = "sallyport-cassette"

    /// In the order in which they began; at most ``CassetteSettings/exchangeLimit``.
    public internal(set) var exchanges: [RecordedExchange]

    /// No exchanges.
    public init() { exchanges = [] }
    init(_ exchanges: [RecordedExchange]) { self.exchanges = exchanges }

    private struct File: Codable {
        var format: String
        var version: Int
        var exchanges: [RecordedExchange]
    }

    private struct Header: Codable {
        var format: String
        var version: Int
    }

    /// Reads the content of a file.
    ///
    /// - Throws: `CassetteError`: `tooLarge`, `tooManyExchanges`, `malformed`, `unsupportedVersion`.
    public init(file bytes: [UInt8], settings: CassetteSettings = CassetteSettings()) throws(CassetteError) {
        guard bytes.count <= settings.fileLimit.bytes else {
            throw CassetteError(.tooLarge, "The file is longer than \(settings.fileLimit).")
        }
        let header: Header = try Self.decoded(bytes)
        guard header.format == Self.format else { throw CassetteError(.malformed, "The file is not a cassette.") }
        guard header.version == Self.version else {
            throw CassetteError(.unsupportedVersion, "The file has the version \(header.version).")
        }
        let file: File = try Self.decoded(bytes)
        guard file.exchanges.count <= settings.exchangeLimit else {
            throw CassetteError(.tooManyExchanges, "The file has more than \(settings.exchangeLimit) exchanges.")
        }
        for exchange in file.exchanges { try Self.check(exchange, settings) }
        exchanges = file.exchanges
    }

    private static func decoded<Value: Decodable>(_ bytes: [UInt8]) throws(CassetteError) -> Value {
        do {
            return try JSONDecoder().decode(Value.self, from: Data(bytes))
        } catch {
            throw CassetteError(.malformed, "The file is not JSON of a cassette.", underlying: error)
        }
    }

    private static func check(_ exchange: RecordedExchange, _ settings: CassetteSettings) throws(CassetteError) {
        _ = try exchange.response.head(isBodyless: false)
        guard exchange.response.body.bytes.count <= settings.bodyLimit.bytes else {
            throw CassetteError(.tooLarge, "A body is longer than \(settings.bodyLimit).")
        }
        do throws(AddressError) {
            _ = try RequestURL(exchange.request.url)
            if let url = exchange.response.url { _ = try RequestURL(url) }
        } catch {
            throw CassetteError(.malformed, "A URL is none.", underlying: error)
        }
    }

    /// The content of a file: readable JSON, the same for equal exchanges.
    func file() throws(CassetteError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        do {
            let file = File(format: Self.format, version: Self.version, exchanges: exchanges)
            return Array(try encoder.encode(file)) + Array("\n".utf8)
        } catch {
            throw CassetteError(.unwritable, "The recording has no JSON.", underlying: error)
        }
    }
}
