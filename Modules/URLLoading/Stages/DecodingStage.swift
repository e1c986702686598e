internal import HTTPTypes
public import SallyportBase
public import SallyportCore
public import SallyportLoading

/// Asks for compressed bodies and decodes them while they come: gzip and deflate.
///
/// A request that names its own `Accept-Encoding`, or a `Range`, gets the body as the server sent it. A decoded body
/// loses `Content-Encoding` and `Content-Length`, which spoke of the encoded one.
public struct DecodingStage: LoadStage {
    private let limit: InflationLimit

    /// - Parameters:
    ///   - factor: a decoded body may be `factor` × encoded + `allowance` bytes long at any time; one byte more
    ///     ends the load with `decodingFailed`.
    ///   - allowance: what small bodies may grow to.
    public init(factor: Int = 100, allowance: ByteCount = .mebibytes(1)) {
        limit = InflationLimit(factor: factor, allowance: allowance.bytes)
    }

    private static let offer = "gzip, deflate"
    private static let offerAlone: HTTPFields = [.acceptEncoding: offer]

    public func load(
        _ request: LoadRequest, in context: LoadContext, next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        try await pass(request, by: passage(of: request, in: context), in: context, next: next)
    }

    /// Adds the offer `gzip, deflate` and asks to see encoded answers, unless the request has its own `Accept-Encoding`
    /// or `Range`.
    public func passage(of request: LoadRequest, in context: LoadContext) -> LoadPassage {
        let isOwn = request.headerFields.contains { $0.name == .acceptEncoding || $0.name == .range }
        return isOwn ? .passes() : .passes(watching: .codings, as: offering(to: request))
    }

    /// The request with the offer to decode its answer.
    private func offering(to request: consuming LoadRequest) -> LoadRequest {
        if request.headerFields.isEmpty {
            request.headerFields = Self.offerAlone
        } else {
            request.headerFields.append(HTTPField(name: .acceptEncoding, value: Self.offer))
        }
        return request
    }

    /// Decodes the body.
    public func answered(
        _ response: LoadResponse, to request: LoadRequest, after passage: LoadPassage, in context: LoadContext,
        next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        guard hasBody(response.head.status, answering: request.method) else { return response }
        var response = response
        try decode(&response)
        return response
    }

    private func decode(_ response: inout LoadResponse) throws(LoadError) {
        let codings: [ContentCoding]?
        do throws(LoadError) {
            codings = try ContentCoding.list(in: response.head.headerFields)
        } catch {
            response.body.discard()
            throw error
        }
        guard let codings, !codings.isEmpty else { return }
        response.body = ResponseBody(DecodedBody(response.body, codings: codings, limit: limit))
        response.head.headerFields[.contentEncoding] = nil
        response.head.headerFields[.contentLength] = nil
    }

    /// Whether fields on the body speak of bytes that come (RFC 9110 §6.4.1).
    private func hasBody(_ status: HTTPResponse.Status, answering method: HTTPRequest.Method) -> Bool {
        method != .head && status.kind != .informational && status.code != 204 && status.code != 304
    }
}
