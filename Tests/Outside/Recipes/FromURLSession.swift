import Foundation
import FoundationNetworking
import Sallyport

enum Before {
    // recipe: urlsession-data-before
    static func data(from url: URL) async throws -> Data {
        let (data, response) = try await URLSession.shared.data(from: url)
        guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw URLError(.badServerResponse) }
        return data
    }
    // end

    // recipe: urlsession-post-before
    static func post(_ json: Data, to url: URL) async throws {
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        _ = try await URLSession.shared.upload(for: request, from: json)
    }
    // end

    // recipe: urlsession-configuration-before
    static func session() -> URLSession {
        let configuration = URLSessionConfiguration.default
        configuration.timeoutIntervalForRequest = 5
        configuration.timeoutIntervalForResource = 60
        configuration.httpAdditionalHeaders = ["User-Agent": "report/1.0"]
        configuration.urlCache = nil
        return URLSession(configuration: configuration)
    }
    // end
}

enum After {
    // recipe: urlsession-data-after
    static func data(from url: String, in session: SecureSession) async throws -> [UInt8] {
        let answer = try await session.data(for: .get(url), upTo: .mebibytes(16))
        guard answer.head.status == .ok else { throw UnexpectedStatus(status: answer.head.status) }
        return answer.body
    }
    // end

    // recipe: urlsession-post-after
    static func post(_ json: Data, to url: String, in session: SecureSession) async throws {
        let request = try LoadRequest(.post, RequestURL(url), headerFields: [.contentType: "application/json"])
        _ = try await session.upload(for: request, from: .bytes(Array(json)))
    }
    // end

    // recipe: urlsession-configuration-after
    static func session(of sallyport: Sallyport) -> SecureSession {
        var configuration = SessionConfiguration()
        configuration.idleTimeout = .seconds(5)
        configuration.resourceTimeout = .seconds(60)
        configuration.additionalHeaders[.userAgent] = "report/1.0"
        configuration.usesCache = false
        return sallyport.makeSession(configuration)
    }
    // end
}
