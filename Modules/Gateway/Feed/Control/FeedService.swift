internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore
internal import SallyportWire
internal import ServiceLifecycle

/// The paths of the feed on the control port. Each needs the certificate of a relay, which no instance has.
struct FeedService: Sendable {
    let data: GatewayData
    let hub: FeedHub
    let trails: RelayTrails
    private let batches = SharedLimiter<RelayIdentifier>(.batches)
    let current: CurrentState
    let logger: Logger
    private let renewals = SharedLimiter<RelayIdentifier>(.relayRenewals)

    func addRoutes(to router: Router<ControlContext>) {
        router.get(RouterPath(FeedAPI.feed)) { try await feed($0, $1) }
        router.post(RouterPath(FeedAPI.applied)) { try await applied($0, $1) }
        router.post(RouterPath(FeedAPI.audit)) { try await audit($0, $1) }
        router.post(RouterPath(FeedAPI.certificates)) { try await certificates($0, $1) }
    }

    private func relay(_ context: ControlContext) async throws -> PresentedRelay {
        guard let der = try await context.peerCertificate() else {
            throw GatewayError(.unauthorized, "This path needs a relay's certificate.")
        }
        let presented = try current.relay(presenting: der)
        _ = try await data.admitted(presented)
        return presented
    }

    // MARK: The feed

    private func feed(_ request: Request, _ context: ControlContext) async throws -> Response {
        let relay = try await relay(context)
        let echo = request.uri.queryParameters.get("echo").flatMap { Int64($0) } ?? 0
        try Self.check(echo: echo)
        let port = request.uri.queryParameters.get("port").flatMap { UInt16($0) } ?? 0
        // A relay whose port cannot be noted, as while the database is away, says it again with its next report.
        try? await data.note(relay, listensOn: port)
        let (number, ticks) = await hub.begin(relay.id, echo: echo) { context.cutOff() }
        logger.info("A relay follows the feed.", metadata: ["relay": "\(relay.id)", "source": "\(context.source)"])
        return Response(
            status: .ok, headers: [.contentType: "application/x-ndjson", .cacheControl: "no-store"],
            body: .init { [self] writer in
                do { try await write(to: &writer, relay, number, ticks) } catch {
                    await hub.end(number)
                    throw error
                }
                await hub.end(number)
                try await writer.finish(nil)
            })
    }

    @concurrent
    private func write(
        to writer: inout any ResponseBodyWriter, _ relay: PresentedRelay, _ number: Int, _ ticks: AsyncStream<Void>
    ) async throws {
        var position: Int64?
        for await _ in ticks.cancelOnGracefulShutdown() {
            guard await data.relays.relay(relay.id) != nil else {
                return try await write(.removed, to: &writer, number)
            }
            // A connection can outlive its certificate, which was replaced twice. It ends, and the relay follows anew with
            // its present one. A machine with an old copy of the relay's folder is refused then.
            guard await data.knows(relay) else { return }
            while let update = await data.feed(after: position) {
                for line in try update.lines() { try await write(line, to: &writer, number) }
                position = update.revision
            }
            // The same once the certificate has expired, or its authority is accepted no more: after the update that says
            // so, which a relay that has renewed since is to apply at once, as all others do.
            guard await data.admits(relay) else { return }
            try await write(.beat(hub.beat(for: relay.id, at: position ?? 0)), to: &writer, number)
        }
    }

    /// A relay that does not read is cut off by the hub meanwhile.
    @concurrent
    private func write(_ line: FeedLine, to writer: inout any ResponseBodyWriter, _ number: Int) async throws {
        let bytes = ByteBuffer(bytes: try line.serialized())
        await hub.begins(writingTo: number)
        try await writer.write(bytes)
        await hub.hasWritten(to: number)
    }

    // MARK: Reports

    private func applied(_ request: Request, _ context: ControlContext) async throws -> Response {
        let relay = try await relay(context)
        let report: FeedReport = try await Self.body(of: request)
        guard report.renewals.count <= FeedReport.renewalLimit else {
            throw GatewayError(.invalid, "A report has at most \(FeedReport.renewalLimit) renewals.")
        }
        try Self.check(echo: report.echo)
        await hub.received(report, from: relay.id)
        try await data.note(relay, listensOn: report.port)
        let missed = await data.adopt(report.renewals)
        if report.asks { try await data.catchUpForCertain() }
        return try Self.answer(
            FeedReportAnswer(revision: await data.followed, renewals: missed.isEmpty ? nil : missed))
    }

    /// A relay counts from 0 on. The number comes back to it with each beat, even one that a machine with a copy of its
    /// certificate has sent.
    private static func check(echo: Int64) throws(GatewayError) {
        guard echo >= 0 else { throw GatewayError(.invalid, "A relay's number is not negative.") }
    }

    private func audit(_ request: Request, _ context: ControlContext) async throws -> Response {
        let relay = try await relay(context)
        try await batches.take(relay.id, at: data.clock(), or: "More batches of events than a relay needs.")
        let batch: FeedBatch = try await Self.body(of: request, upTo: FeedBatch.limit)
        // The name is the record's, and the record that of the certificate.
        let record = try await data.admitted(relay)
        try await trails.enter(batch, of: record, at: data.clock())
        return try Self.answer(FeedBatchAnswer(number: batch.number))
    }

    private func certificates(_ request: Request, _ context: ControlContext) async throws -> Response {
        let relay = try await relay(context)
        try await renewals.take(relay.id, at: data.clock(), or: "More renewals than a relay needs.")
        let certificates = try await data.renew(relay, Self.body(of: request))
        logger.info("A relay's certificates were renewed.", metadata: ["relay": "\(relay.id)"])
        return try Self.answer(certificates)
    }

    private static func body<Value: Decodable>(
        of request: Request, upTo limit: Int = ControlAPI.Limits.request
    ) async throws -> Value {
        var request = request
        let buffer = try await request.collectBody(upTo: limit)
        do { return try FeedCoding.decoder.decode(Value.self, from: Data(buffer.readableBytesView)) } catch {
            throw GatewayError(.invalid, "The body is not understood.", underlying: error)
        }
    }

    private static func answer(_ value: some Encodable) throws -> Response {
        Response(
            status: .ok, headers: [.contentType: ControlAPI.MediaType.json, .cacheControl: "no-store"],
            body: .init(byteBuffer: .init(bytes: try Array(FeedCoding.encoder.encode(value)))))
    }
}
