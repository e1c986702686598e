internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL
internal import SallyportBase
internal import SallyportCore
internal import SallyportWire
internal import ServiceLifecycle

/// The paths of the control plane, with their access rules.
///
/// The listener requests a client certificate, and each path decides whether it needs one: enrolment has none yet, and
/// an expired certificate may only be renewed. Headers that forward a certificate are ignored.
struct ControlPlane: Sendable {
    let data: GatewayData
    let events: EventHub
    let names: NameService
    let current: CurrentState
    let tokens: TokenEndpoints
    let feed: FeedService
    let metrics: GatewayMetrics
    let audit: AuditRecorder
    private let queries = SharedLimiter<InstanceIdentifier>(.queries)
    private let fetches = SharedLimiter<InstanceIdentifier>(.configurations)
    private let renewals = SharedLimiter<InstanceIdentifier>(.renewals)
    let logger: Logger

    private static let transferEncoding = HTTPField.Name("Content-Transfer-Encoding")
    private static let lastEventID = HTTPField.Name("Last-Event-ID")

    func router() -> Router<ControlContext> {
        let router = Router(context: ControlContext.self)
        router.add(middleware: FailureMiddleware(metrics: metrics, audit: audit, current: current, logger: logger))
        router.get(RouterPath(ControlAPI.Path.health)) { _, _ in
            Response(
                status: .ok, headers: [.contentType: ControlAPI.MediaType.json],
                body: .init(byteBuffer: .init(string: "{\"status\":\"ok\"}\n")))
        }
        router.get(RouterPath(ControlAPI.Path.authorities)) { _, _ in try await authorities() }
        router.post(RouterPath(ControlAPI.Path.enroll)) { try await enroll($0, $1) }
        router.post(RouterPath(ControlAPI.Path.reenroll)) { try await reenroll($0, $1) }
        router.get(RouterPath(ControlAPI.Path.configuration)) { try await configuration($0, $1) }
        router.post(RouterPath(ControlAPI.Path.storedConfiguration)) { try await storedConfiguration($0, $1) }
        router.get(RouterPath(ControlAPI.Path.events)) { try await eventStream($0, $1) }
        router.post(RouterPath(ControlAPI.Path.names)) { try await name($0, $1) }
        router.post(RouterPath(AuthTokenAPI.Path.issue)) { try await token($0, $1) }
        tokens.addRoutes(to: router)
        feed.addRoutes(to: router)
        return router
    }

    // MARK: EST

    private func authorities() async throws -> Response {
        try Self.certificates([await data.authorityDER])
    }

    private func enroll(_ request: Request, _ context: ControlContext) async throws -> Response {
        guard let field = request.headers[.authorization], let credentials = try? BasicCredentials(fieldValue: field)
        else {
            throw GatewayError(.unauthorized, "Enrolment needs user and access key (HTTP Basic).")
        }
        let application = try Self.application(in: request)
        let body = try await Self.body(of: request)
        let chain = try await data.enroll(credentials, for: application, request: body, source: context.network)
        logger.info("An instance was activated.", metadata: ["user": "\(credentials.user)"])
        return try Self.certificates(Array(chain.prefix(1)))
    }

    private func reenroll(_ request: Request, _ context: ControlContext) async throws -> Response {
        let presented = try await presented(context)
        try await renewals.take(
            presented.name.instance, at: data.clock(), or: "More renewals than an instance needs.")
        let chain = try await data.reenroll(presented, request: Self.body(of: request))
        logger.info("A certificate was renewed.", metadata: ["instance": "\(presented.name.instance)"])
        return try Self.certificates(Array(chain.prefix(1)))
    }

    private static func application(in request: Request) throws(GatewayError) -> EnrolledApplication {
        let version = try version(in: request)
        guard let text = request.uri.queryParameters.get(ControlAPI.Query.entitlement) else {
            return EnrolledApplication(version: version)
        }
        return EnrolledApplication(entitlement: try Directory.entitlement(text), version: version)
    }

    /// The version of the app, if the request names one.
    private static func version(in request: Request) throws(GatewayError) -> EntitlementVersion? {
        guard let text = request.uri.queryParameters.get(ControlAPI.Query.version) else { return nil }
        return try Directory.version(text)
    }

    private static func body(of request: Request) async throws -> [UInt8] {
        var request = request
        let buffer = try await request.collectBody(upTo: ControlAPI.Limits.request)
        do { return try ESTBody.decode(Array(buffer.readableBytesView)) } catch {
            throw GatewayError(.invalid, "The body is not base64 (RFC 7030).", underlying: error)
        }
    }

    private static func certificates(_ der: [[UInt8]]) throws -> Response {
        let text = ESTBody.encode(try CertificateBag(der).serialized())
        var headers = HTTPFields()
        headers[.contentType] = ControlAPI.MediaType.certificates
        if let name = Self.transferEncoding { headers[name] = "base64" }
        return Response(status: .ok, headers: headers, body: .init(byteBuffer: .init(string: text)))
    }

    // MARK: Configuration and events

    private func configuration(_ request: Request, _ context: ControlContext) async throws -> Response {
        let presented = try await presented(context)
        // A wiped or denied instance is told so even with an expired certificate: it may have been away for long.
        if data.isExpired(presented), try await !data.hasEnded(presented) { throw Self.expired }
        let version = try Self.version(in: request)
        try await waitForTurn(presented.name.instance)
        if let refusal = try await refusal(of: request, from: presented) { return refusal }
        let text = try await data.configuration(for: presented, version: version)
        return Response(
            status: .ok, headers: [.contentType: ControlAPI.MediaType.configuration, .cacheControl: "no-store"],
            body: .init(byteBuffer: .init(string: text)))
    }

    /// Delays an instance's fetch above its pace until its turn, by a second at most; further fetches are refused.
    func waitForTurn(_ instance: InstanceIdentifier) async throws {
        let wait = await fetches.turn(of: instance, within: Self.patience, at: data.clock())
        // A refusal is delayed as well, so that repeating the request at once gains nothing and costs the gateway
        // little.
        if wait != 0 { try await Task.sleep(for: .seconds(wait ?? Self.patience)) }
        guard wait == nil else { return }
        throw GatewayError(
            .limited, "More than \(Int(RatePace.configurations.rate)) configurations a second for long.")
    }

    /// In seconds; also the delay that a refused client is told.
    private static let patience = 1.0

    private func eventStream(_ request: Request, _ context: ControlContext) async throws -> Response {
        let (presented, _) = try await admitted(context)
        let lastID = Self.lastEventID.flatMap { request.headers[$0] }
        let stream = await events.begin(presented.name.instance, lastEventID: lastID)
        return Response(
            status: .ok, headers: [.contentType: ControlAPI.MediaType.events, .cacheControl: "no-store"],
            body: .init { [self] writer in
                try await writer.write(ByteBuffer(string: ServerSentEvent.heartbeat))
                for await item in stream.cancelOnGracefulShutdown() {
                    // Hints of before still come, since they may be what makes the app renew.
                    if case .heartbeat = item, !current.admits(presented) { break }
                    let text: String =
                        switch item {
                        case .event(let event): event.serverSentEvent.serialized
                        case .heartbeat: ServerSentEvent.heartbeat
                        }
                    try await writer.write(ByteBuffer(string: text))
                }
                try await writer.finish(nil)
            })
    }

    // MARK: Names

    private func name(_ request: Request, _ context: ControlContext) async throws -> Response {
        let (presented, _) = try await admitted(context)
        guard await queries.takes(presented.name.instance, at: data.clock()) else {
            throw GatewayError(
                .limited, "More than \(Int(RatePace.queries.rate)) queries a second for long: try again in a second.")
        }
        guard request.headers[.contentType] == ControlAPI.MediaType.query else {
            throw GatewayError(.invalid, "A query is \(ControlAPI.MediaType.query) (RFC 8484).")
        }
        let query = try await Self.query(in: request)
        let answer = await names.answer(query) { current.judge(presented, name: $0) }
        return Response(
            status: .ok, headers: [.contentType: ControlAPI.MediaType.query, .cacheControl: "no-store"],
            body: .init(byteBuffer: .init(bytes: try answer.serialized())))
    }

    private static func query(in request: Request) async throws -> DNSMessage {
        var request = request
        let body = try await request.collectBody(upTo: ControlAPI.Limits.query)
        guard let query = try? DNSMessage(parsing: Array(body.readableBytesView)) else {
            throw GatewayError(.invalid, "The body is not a query for A, AAAA, CNAME or SRV.")
        }
        return query
    }

    // MARK: Tokens

    private func token(_ request: Request, _ context: ControlContext) async throws -> Response {
        let (_, record) = try await admitted(context)
        return try await tokens.issue(request, to: record)
    }

    // MARK: Certificates

    private func presented(_ context: ControlContext) async throws -> PresentedCertificate {
        guard let der = try await context.peerCertificate() else {
            throw GatewayError(.unauthorized, "This path needs an instance's certificate.")
        }
        return try current.presented(der)
    }

    /// The client's certificate, for every path but renewal and configuration: it must not have expired, and its
    /// instance must be neither wiped nor denied.
    func inForce(_ context: ControlContext) async throws -> PresentedCertificate {
        let presented = try await unexpired(context)
        try await data.checkInForce(presented)
        return presented
    }

    /// The client's certificate, as ``inForce(_:)`` has it, which counts as used, and the record of its instance.
    private func admitted(_ context: ControlContext) async throws -> (PresentedCertificate, InstanceRecord) {
        let presented = try await unexpired(context)
        // One call of the actor, which all requests share.
        return (presented, try await data.admittedInForce(presented))
    }

    private func unexpired(_ context: ControlContext) async throws -> PresentedCertificate {
        let presented = try await presented(context)
        guard !data.isExpired(presented) else { throw Self.expired }
        return presented
    }

    private static var expired: GatewayError { GatewayError(.expired, "The certificate has expired: renew it.") }
}

/// Turns errors into the body of ``ControlAPI/Failure``.
struct FailureMiddleware: RouterMiddleware {
    let metrics: GatewayMetrics
    let audit: AuditRecorder
    let current: CurrentState
    let logger: Logger

    func handle(
        _ request: Request, context: ControlContext,
        next: @concurrent (Request, ControlContext) async throws -> Response
    ) async throws -> Response {
        do {
            // The listener removes the authority of a request that does not have exactly one `Host`.
            guard request.head.authority != nil else {
                throw GatewayError(.invalid, "A request has exactly one Host field (RFC 9112 §3.2).")
            }
            let response = try await next(request, context)
            count(request, response.status == .conflict ? "behind" : "done")
            return response
        } catch let error as GatewayError {
            count(request, error.code.description)
            await auditRefusal(of: request, error.code, context)
            log(error, of: request, context)
            return Self.response(error)
        } catch let error as any HTTPResponseError {
            count(request, "invalid")
            return Self.response(
                status: error.status, code: .serverCommunicationFailed, "invalid", "The request was refused.")
        } catch is CancellationError {
            throw CancellationError()
        } catch let error where Self.isAborted(error) || !context.isConnected {
            count(request, "aborted")
            logger.debug(
                "A request was aborted.", metadata: ["path": "\(request.uri.path)", "source": "\(context.source)"])
            throw error
        } catch {
            count(request, "failed")
            logger.error("A request failed.", metadata: ["path": "\(request.uri.path)", "error": "\(error)"])
            return Self.response(
                status: .internalServerError, code: .serverCommunicationFailed, "internalFailure",
                "The gateway failed; its log says why.")
        }
    }

    private func auditRefusal(of request: Request, _ code: GatewayError.Code, _ context: ControlContext) async {
        let certificate = try? await context.peerCertificate()
        let presented = certificate.flatMap { try? current.presented($0) }
        audit.refused(
            ControlOperation(path: request.uri.path).rawValue, code,
            instance: presented?.name.instance.description, source: context.source)
    }

    private func log(_ error: GatewayError, of request: Request, _ context: ControlContext) {
        var metadata: Logger.Metadata = [
            "path": "\(request.uri.path)", "code": "\(error.code)", "source": "\(context.source)",
        ]
        if error.isOfSharedStore { metadata["reason"] = "\(error.message)" }
        logger.log(
            level: context.isConnected ? .notice : .debug, "A request was refused.", metadata: metadata)
    }

    private func count(_ request: Request, _ result: String) {
        metrics.requests.add(1, ControlOperation(path: request.uri.path).rawValue, result)
    }

    /// Whether the peer's connection failed, rather than something in the gateway.
    private static func isAborted(_ error: any Error) -> Bool {
        error is HTTPParserError || error is ChannelError || error is IOError || error is NIOSSLError
            || error is BoringSSLError
    }

    private static func response(_ error: GatewayError) -> Response {
        let (status, code): (HTTPResponse.Status, ResultCode) =
            switch error.code {
            case .unauthorized: (.unauthorized, .credentialsFailed)
            case .forbidden, .retired, .locked, .expired, .keyUsed, .keyExpired: (.forbidden, .credentialsFailed)
            case .wrongApplication: (.forbidden, .appIntegrityFailed)
            case .versionNotEntitled: (.forbidden, .appVersionNotEntitled)
            case .invalid: (.badRequest, .serverCommunicationFailed)
            case .limited: (.tooManyRequests, .serverCommunicationFailed)
            case .unreachable, .store: (.serviceUnavailable, .serverCommunicationFailed)
            default: (.internalServerError, .serverCommunicationFailed)
            }
        // What the database says names it, and is for the log.
        let message = error.isOfSharedStore ? "The gateway's database does not serve this now." : error.message
        return response(
            status: status, code: code, error.code.description, message, retryAfter: error.retryAfter)
    }

    static func response(
        status: HTTPResponse.Status, code: ResultCode, _ name: String, _ message: String, stored: Int64? = nil,
        retryAfter: Int? = nil
    ) -> Response {
        let failure = ControlAPI.Failure(code: code.rawValue, name: name, message: message, stored: stored)
        let body = (try? WireJSON.encode(failure)) ?? []
        var headers: HTTPFields = [.contentType: ControlAPI.MediaType.json]
        if status == .unauthorized { headers[.wwwAuthenticate] = "Basic realm=\"sallyport\"" }
        // All limits that say nothing else are rates per second.
        if status == .tooManyRequests { headers[.retryAfter] = "\(retryAfter ?? 1)" }
        // The fleet's database is away, or this gateway may not use it: another gateway may, and a fail-over takes seconds.
        if status == .serviceUnavailable { headers[.retryAfter] = "2" }
        return Response(status: status, headers: headers, body: .init(byteBuffer: .init(bytes: body)))
    }
}

extension GatewayError {
    /// Whether it is the fleet's database that is out of reach, or not believed. The gateway's own store has errors of its
    /// own.
    fileprivate var isOfSharedStore: Bool { code == .store || code == .unreachable }
}
