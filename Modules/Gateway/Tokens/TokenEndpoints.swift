internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import SallyportWire

/// The paths of tokens: issuing, verification, and the published keys.
struct TokenEndpoints: Sendable {
    let data: GatewayData
    let service: TokenService
    let metrics: GatewayMetrics
    let audit: AuditRecorder
    /// The lease on word from a store that other gateways change too; nil for a store of the gateway's own.
    let lease: LeaseGate?
    let logger: Logger
    private let issuing = SharedLimiter<InstanceIdentifier>(.tokens)
    private let verifying = SharedLimiter<[UInt8]>(.verifications)

    init(
        data: GatewayData, service: TokenService, metrics: GatewayMetrics, audit: AuditRecorder = .keepsNothing,
        lease: LeaseGate?, logger: Logger
    ) {
        (self.data, self.service, self.metrics, self.audit) = (data, service, metrics, audit)
        (self.lease, self.logger) = (lease, logger)
    }

    /// For the control listener; issuing is registered with the paths that need a certificate.
    func addRoutes(to router: Router<ControlContext>) {
        router.get(RouterPath(AuthTokenAPI.Path.verify)) { try await verify($0, $1) }
        router.get(RouterPath(AuthTokenAPI.Path.keys)) { _, _ in try keys() }
    }

    /// For the listener without TLS: verification only, since keys that come without TLS cannot be trusted.
    func plainRouter() -> Router<ControlContext> {
        let router = Router(context: ControlContext.self)
        router.add(
            middleware: FailureMiddleware(
                metrics: metrics, audit: audit, current: service.current, logger: logger))
        router.get(RouterPath(AuthTokenAPI.Path.verify)) { try await verify($0, $1) }
        return router
    }

    /// - Parameter record: of the instance that presented the certificate.
    func issue(_ request: Request, to record: InstanceRecord) async throws -> Response {
        guard await issuing.takes(record.name.instance, at: data.clock()) else {
            throw GatewayError(
                .limited, "More than \(Int(RatePace.tokens.rate)) tokens a second for long: try again in a second.")
        }
        guard request.headers[.contentType] == ControlAPI.MediaType.json else {
            throw GatewayError(.invalid, "A request for a token is \(ControlAPI.MediaType.json).")
        }
        var request = request
        let body = Array(try await request.collectBody(upTo: AuthTokenAPI.Limits.request).readableBytesView)
        guard let asked = try? WireJSON.decode(AuthTokenAPI.Request.self, from: body, limit: body.count) else {
            throw GatewayError(.invalid, "The body is not a request for a token: challenge and server must be texts.")
        }
        let settings = await data.settings
        try checkLease()
        let answer = try service.issue(asked, to: record, by: settings)
        return Response(
            status: .ok, headers: [.contentType: ControlAPI.MediaType.json, .cacheControl: "no-store"],
            body: .init(byteBuffer: .init(bytes: try WireJSON.encode(answer))))
    }

    /// Verifies a token: the result is in a header field, and the status is 200 whatever it is.
    ///
    /// The claims are returned for a valid token only: a caller that reads the user without checking the result gets no
    /// user.
    private func verify(_ request: Request, _ context: ControlContext) async throws -> Response {
        let source = context.network
        guard await verifying.takes(source, at: data.clock()) else {
            throw GatewayError(
                .limited, "More than \(Int(RatePace.verifications.rate)) tokens a second for long: wait a second.")
        }
        let token = HTTPField.Name(AuthTokenAPI.Field.token).flatMap { request.headers[$0] } ?? ""
        try checkLease()
        let (verdict, claims) = try await service.judge(token)
        metrics.verifications.add(1, "\(verdict)")
        if verdict == .malformed { await verifying.charges(source, RatePace.priceOfMalformed - 1) }
        var headers: HTTPFields = [.contentType: "text/plain", .cacheControl: "no-store"]
        headers.add(AuthTokenAPI.Field.code, verdict.text)
        headers.add(AuthTokenAPI.Field.version, AuthTokenAPI.version)
        if verdict == .valid, let claims {
            for (field, value) in AuthTokenAPI.told(of: claims) { headers.add(field, value) }
        }
        return Response(status: .ok, headers: headers)
    }

    /// Once its lease is over, a gateway may have missed any number of withdrawals, and app servers rely on an on-line
    /// verdict: it issues no token and judges none, so that apps and app servers ask another gateway.
    private func checkLease() throws(GatewayError) {
        guard let lease, lease.isOver else { return }
        throw GatewayError(.unreachable, "There was no word from the store for longer than the lease.")
    }

    private func keys() throws -> Response {
        Response(
            status: .ok,
            headers: [
                .contentType: AuthTokenAPI.MediaType.keys, .cacheControl: "public, max-age=\(TokenKeys.maximumAge)",
            ],
            body: .init(byteBuffer: .init(bytes: try service.current.value.tokenKeys.published.serialized())))
    }
}

extension HTTPFields {
    fileprivate mutating func add(_ name: String, _ value: String) {
        if let name = HTTPField.Name(name) { self[name] = value }
    }
}
