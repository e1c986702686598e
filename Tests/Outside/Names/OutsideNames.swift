import AsyncHTTPClient
import HTTPTypes
import Hummingbird
import NIOCore
import NIOSSL
import Sallyport

/// A server that imports the front door beside Hummingbird, NIOSSL and AsyncHTTPClient, and uses the names that each of
/// them has. That it compiles is what it shows.
@main
struct OutsideNames {
    /// Hummingbird's.
    private static let cookie = Cookie(name: "session", value: "1")
    /// NIOSSL's.
    private static let lowest = TLSVersion.tlsv12
    /// Of swift-http-types, as all of them have it.
    private static let request = HTTPRequest(
        method: .get, scheme: "https", authority: "reports.corp.example", path: "/")
    private static let client = HTTPClient.shared

    /// What the server answers with is what an app loads.
    static func report(_ request: Request, from app: Sallyport) async throws -> Response {
        let answer = try await app.session.data(for: .get("https://reports.corp.example/today"))
        return Response(
            status: answer.head.status, headers: answer.head.headerFields,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: answer.body)))
    }

    static func main() async throws {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = lowest
        let router = Router()
        router.get("today") { _, _ in "\(cookie.name)" }
        let load = try LoadRequest(request)
        guard load.url.description == "https://reports.corp.example/" else {
            throw LoadError(.invalidRequest, "\(load.url)")
        }
        print("one file names \(type(of: cookie)), \(type(of: lowest)), \(type(of: request)) and \(type(of: client))")
    }
}
