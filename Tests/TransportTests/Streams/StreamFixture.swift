import Glibc
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport

@testable import SallyportTransport

/// Peers at the other ends of streams to test servers.
struct StreamFixture {
    let transport = Transport()

    /// The stream is the peer's.
    func open(
        to server: TestServer, idleLifetime: Duration = .seconds(90)
    ) async throws -> (peer: StreamPeer, stream: ByteStream) {
        let tunnel = try await transport.tunnel(TunnelRequest(to: server.endpoint), via: ConnectionPath())
        let stream = ByteStream(over: tunnel)
        return (StreamPeer(stream, idleLifetime: idleLifetime), stream)
    }

    func request(_ path: String = "/", body: RequestBody? = nil) throws -> ExchangeRequest {
        try ExchangeRequest(body == nil ? .get : .post, RequestURL("http://inside.example\(path)"), body: body)
    }
}

extension StreamPeer {
    func exchange(_ request: ExchangeRequest) async throws(LoadError) -> ExchangeResponse {
        try await exchange(request, for: .instance)
    }

    func body(_ request: ExchangeRequest) async throws(LoadError) -> String {
        let response = try await exchange(request)
        return String(decoding: try await response.body.collect(upTo: .mebibytes(1)), as: UTF8.self)
    }
}

extension TestConnection {
    static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    /// Whether nothing comes in this time.
    func waits(for time: Duration) -> Bool {
        var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&ready, 1, Int32(time / .milliseconds(1))) == 0
    }

    /// Reads this many bytes.
    ///
    /// - Returns: whether they came.
    func skip(_ count: Int) -> Bool {
        var rest = count
        while rest > 0 {
            let bytes = read(upTo: min(rest, 64 << 10))
            if bytes.isEmpty { return false }
            rest -= bytes.count
        }
        return true
    }
}
