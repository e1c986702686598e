import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOSSL
import Sallyport

enum ClientBefore {
    // recipe: client-get-before
    static func get() async throws -> ByteBuffer {
        let request = HTTPClientRequest(url: "https://reports.corp.example/today")
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        return try await response.body.collect(upTo: 4 * 1024 * 1024)
    }
    // end

    // recipe: client-post-before
    static func post(_ json: String) async throws {
        var request = HTTPClientRequest(url: "https://reports.corp.example/")
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        request.body = .bytes(ByteBuffer(string: json))
        _ = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
    }
    // end

    // recipe: client-stream-before
    static func stream() async throws -> Int {
        let request = HTTPClientRequest(url: "https://feeds.corp.example/prices")
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        var count = 0
        for try await buffer in response.body { count += buffer.readableBytes }
        return count
    }
    // end

    // recipe: client-certificate-before
    static func client() throws -> HTTPClient {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.additionalTrustRoots = [.file("/etc/report/corp-ca.pem")]
        tls.certificateChain = try NIOSSLCertificate.fromPEMFile("/etc/report/client.pem").map { .certificate($0) }
        tls.privateKey = .privateKey(try NIOSSLPrivateKey(file: "/etc/report/client.key", format: .pem))
        return HTTPClient(configuration: .init(tlsConfiguration: tls))
    }
    // end
}

enum ClientAfter {
    // recipe: client-get-after
    static func get(_ session: SecureSession) async throws -> [UInt8] {
        var request = try LoadRequest.get("https://reports.corp.example/today")
        request.options.resourceTimeout = .seconds(30)
        return try await session.data(for: request, upTo: .mebibytes(4)).body
    }
    // end

    // recipe: client-post-after
    static func post(_ json: String, _ session: SecureSession) async throws {
        var request = try LoadRequest(
            .post, RequestURL("https://reports.corp.example/"), headerFields: [.contentType: "application/json"],
            body: .text(json))
        request.options.resourceTimeout = .seconds(30)
        _ = try await session.data(for: request)
    }
    // end

    // recipe: client-stream-after
    static func stream(_ session: SecureSession) async throws -> Int {
        let answer = try await session.bytes(for: .get("https://feeds.corp.example/prices"))
        var count = 0
        for try await chunk in answer.body { count += chunk.count }
        return count
    }
    // end

    // recipe: client-certificate-after
    static func session(of sallyport: Sallyport) throws -> SecureSession {
        var configuration = SessionConfiguration()
        configuration.trust = try .systemAnd(pemFile: "/etc/report/corp-ca.pem")
        let identity = try ClientIdentity.pem(certificates: "/etc/report/client.pem", key: "/etc/report/client.key")
        try configuration.present(identity, to: "reports.corp.example")
        return sallyport.makeSession(configuration)
    }
    // end
}
