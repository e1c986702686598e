import SallyportBase
import SallyportCore
import SallyportLoading
import SessionTestSupport
import TestSupport
import Testing

@testable import SallyportURLLoading

/// Exchanges that stand still at each of their bytes, side by side, until they are ended from our side.
final class Standstill: Sendable {
    enum Ending: CaseIterable, Sendable {
        case cancellation, deadline, withdrawal

        var code: LoadError.Code {
            switch self {
            case .cancellation: .cancelled
            case .deadline: .resourceTimeout
            case .withdrawal: .withdrawn
            }
        }
    }

    /// The longest time that an exchange has where its end is the deadline.
    private static let time = Duration.milliseconds(700)

    let places: [StandstillPlace]
    private let isSecure: Bool
    private let gate: StubGate
    private let loading: URLLoadingSystem
    private let session: SecureSession
    private let server: TestServer
    /// How many exchanges stand still.
    private let standing: Lock<Int>

    /// - Parameter isSecure: whether the server speaks TLS; each byte that it sends is a record of its own then.
    init(at places: [StandstillPlace] = StandstillPlace.all, isSecure: Bool = false) throws {
        let (world, standing) = (try World(), Lock(0))
        self.places = places
        self.isSecure = isSecure
        self.standing = standing
        gate = world.gate
        loading = world.loading()
        let configuration = try world.configuration { configuration in
            configuration.connectionsPerOrigin = 1000
            if StreamHandler.isUsed { configuration.handlers = [StreamHandler(keepsStreams: false)] }
        }
        session = loading.makeSession(configuration)
        let tls = isSecure ? world.originTLS : nil
        server = try TestServer { connection in
            connection.sendAtOnce()
            guard let client = connection.accepted(with: tls), let head = client.readHead(),
                let place = StandstillPlace(named: head), place.isReached(with: client, isByteByByte: tls != nil)
            else { return }
            standing.withLock { $0 += 1 }
            connection.awaitEnd()
        }
    }

    /// Lets one exchange for each place begin, waits until all stand still, and ends them.
    ///
    /// - Returns: how each ended; nil where it did not.
    func walk(to ending: Ending) async throws -> [LoadError.Code?] {
        standing.withLock { $0 = 0 }
        let requests = try places.map { try request(at: $0, ending) }
        let session = session
        let loads = Task { await Self.failures(of: requests, in: session) }
        if ending != .deadline {
            let areStill = try await eventually(within: .seconds(40)) {
                self.standing.withLock { $0 } == self.places.count
            }
            #expect(areStill, "Some did not come to their places.")
        }
        end(loads, ending)
        let codes = await loads.value
        if ending == .withdrawal { gate.authorize() }
        return codes
    }

    /// Whether the connections of all exchanges are gone.
    func isQuiet() async throws -> Bool { try await eventually { self.server.openConnections == 0 } }

    private func end(_ loads: Task<[LoadError.Code?], Never>, _ ending: Ending) {
        switch ending {
        case .cancellation: loads.cancel()
        case .deadline: break
        case .withdrawal: gate.withdraw(.blocked)
        }
    }

    private static func failures(of requests: [LoadRequest], in session: SecureSession) async -> [LoadError.Code?] {
        await withTaskGroup(of: (place: Int, code: LoadError.Code?).self) { group in
            for (place, request) in requests.enumerated() {
                group.addTask { (place, await failure(of: request, in: session)) }
            }
            var codes = [LoadError.Code?](repeating: nil, count: requests.count)
            for await ended in group { codes[ended.place] = ended.code }
            return codes
        }
    }

    private static func failure(of request: LoadRequest, in session: SecureSession) async -> LoadError.Code? {
        do {
            _ = try await session.data(for: request)
            return nil
        } catch {
            return error.code
        }
    }

    private func request(at place: StandstillPlace, _ ending: Ending) throws -> LoadRequest {
        var request = place.request(to: try server.url(place.path, scheme: isSecure ? "https" : "http"))
        if ending == .deadline { request.options.resourceTimeout = Self.time }
        return request
    }
}

extension TestConnection {
    /// The connection behind the handshake, if there is to be one; nil if that fails.
    fileprivate func accepted(with tls: TestTLS?) -> (any TestStream)? {
        guard let tls else { return self }
        return tls.accept(self)
    }
}
