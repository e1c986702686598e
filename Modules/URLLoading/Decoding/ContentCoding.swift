internal import HTTPTypes
internal import SallyportCore

/// A content coding that is decoded here (RFC 9110 §8.4.1).
enum ContentCoding: Sendable {
    case gzip
    /// zlib, or the raw deflate that some servers send under the same name.
    case deflate

    /// More codings than this on one body are an attack.
    static let limit = 4

    /// The codings in the order in which they were applied; nil if one is unknown, so that the body stays as it is.
    ///
    /// - Throws: `decodingFailed` for more than ``limit`` codings.
    static func list(in fields: HTTPFields) throws(LoadError) -> [ContentCoding]? {
        let names = fields[values: .contentEncoding].flatMap { $0.split(separator: ",") }
        var codings: [ContentCoding] = []
        for name in names {
            switch name.lowercased().filter({ $0 != " " && $0 != "\t" }) {
            case "gzip", "x-gzip": codings.append(.gzip)
            case "deflate": codings.append(.deflate)
            case "identity", "": continue
            default: return nil
            }
        }
        guard codings.count <= limit else {
            throw LoadError(.decodingFailed, at: .response, "More than \(limit) content codings.")
        }
        return codings
    }
}

/// How far a body may grow.
struct InflationLimit: Sendable {
    let factor: Int
    let allowance: Int

    /// The longest decoded body for so many encoded bytes.
    func longest(for encoded: Int) -> Int {
        let (product, overflow) = encoded.multipliedReportingOverflow(by: factor)
        return overflow ? .max : product.addingReportingOverflow(allowance).overflow ? .max : product + allowance
    }
}
