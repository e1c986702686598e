internal import HTTPTypes
internal import Hummingbird
internal import SallyportWire

/// The paths of the listener for metrics and health.
struct MetricsResponder: HTTPResponder {
    typealias Context = ControlContext

    let page: MetricsPage
    let health: Health

    func respond(to request: Request, context: ControlContext) async throws -> Response {
        var response = await answer(to: request)
        // One request a connection: see `GatewayListener.lifetime`.
        response.headers[.connection] = "close"
        response.headers[.cacheControl] = "no-store"
        return request.method == .head ? response.createHeadResponse() : response
    }

    private func answer(to request: Request) async -> Response {
        // The listener removes the authority of a request that does not have exactly one `Host`.
        guard request.head.authority != nil else { return Response(status: .badRequest) }
        guard let make = path(request.uri.path) else { return Response(status: .notFound) }
        guard request.method == .get || request.method == .head else {
            return Response(status: .methodNotAllowed, headers: [.allow: "GET, HEAD"])
        }
        return await make()
    }

    /// What answers at a path; nil if there is nothing.
    private func path(_ path: String) -> (() async -> Response)? {
        switch path {
        case "/metrics": { Self.response(.ok, MetricsText.mediaType, Array(await page.text().utf8)) }
        case "/health/live": { await health(where: \.isAlive) }
        case "/health/ready": { await health(where: \.isReady) }
        default: nil
        }
    }

    private func health(where isWell: (HealthState) -> Bool) async -> Response {
        let answer = HealthAnswer(await health.states(), where: isWell)
        return Self.response(answer.httpStatus, ControlAPI.MediaType.json, answer.body)
    }

    private static func response(_ status: HTTPResponse.Status, _ type: String, _ body: [UInt8]) -> Response {
        Response(status: status, headers: [.contentType: type], body: .init(byteBuffer: .init(bytes: body)))
    }
}
