internal import SallyportBase
public import SallyportCore

/// The content of a `data:` URL (RFC 2397): bytes and their media type.
///
/// Parsed strictly, with the following exceptions; everything else is refused.
///
/// - The media type ends at the first comma: one inside a quoted string is written `%2C`. An escape in the media type
///   stands for its character.
/// - Type, subtype, the names of parameters and `;base64` are read in any case; the first three are kept in lower case.
/// - Without a type it is `text/plain`; without type and parameters `text/plain;charset=US-ASCII`.
/// - In base64, escapes are decoded first, white space (as escapes, since a URL contains none) is skipped, and padding
///   may be missing, but not in part. Unused bits must be zero (RFC 4648 §3.5), and the alphabet is that of §4, not the
///   one for URLs.
/// - A `%` that does not begin an escape stands for itself: `RequestURL` writes it as `%25`.
/// - The query belongs to the data, the fragment does not.
public struct DataURL: Sendable, Hashable {
    /// The longest accepted URL, in UTF-8 bytes; as long as any URL may be.
    public static let maximumLength = RequestURL.maximumLength
    /// The most parameters of a media type.
    public static let maximumParameters = 64

    /// A value for `Content-Type`: type, subtype and names in lower case; values quoted unless they are tokens.
    public let mediaType: String
    /// The decoded data; may be empty.
    public let bytes: [UInt8]

    /// - Throws: `LoadError` with the code `invalidRequest` if the text is not a URL of at most ``maximumLength``
    ///   bytes, or not a well-formed `data:` URL. The message never contains a part of the text.
    public init(_ text: String) throws(LoadError) {
        let url: RequestURL
        do throws(AddressError) {
            url = try RequestURL(text)
        } catch {
            throw LoadError(.invalidRequest, "The text is not a URL.", underlying: error)
        }
        try self.init(url)
    }

    /// - Throws: as ``init(_:)-(String)``.
    public init(_ url: RequestURL) throws(LoadError) {
        guard url.scheme == "data" else { throw Self.malformed("The scheme is not data.") }
        guard url.authority == nil else { throw Self.malformed("A data URL names no host.") }
        let text = url.target
        guard let comma = text.utf8.firstIndex(of: UInt8(ascii: ",")) else {
            throw Self.malformed("No comma ends the media type.")
        }
        let head = try Self.unescaped(text[..<comma])
        let data = try Self.unescaped(text[text.utf8.index(after: comma)...])
        var parser = MediaTypeParser(head)
        let isBase64 = try parser.parse()
        mediaType = parser.mediaType
        guard isBase64 else {
            bytes = data
            return
        }
        guard let decoded = Base64.decoded(data) else { throw Self.malformed("The data are not base64.") }
        bytes = decoded
    }

    private static func unescaped(_ text: Substring) throws(LoadError) -> [UInt8] {
        guard let bytes = PercentCoding.decoded(text) else { throw malformed("An escape is broken.") }
        return bytes
    }

    static func malformed(_ message: String) -> LoadError { LoadError(.invalidRequest, message) }
}
