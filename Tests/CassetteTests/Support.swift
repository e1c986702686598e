import Foundation
import HTTPTypes
import SallyportCassette
import SallyportCore
import SallyportLoading
import SallyportURLLoading
import TestSupport

extension Cassette {
    nonisolated func session(_ gate: any AccessGate) -> SecureSession {
        var configuration = SessionConfiguration()
        configuration.handlers = [self]
        return URLLoadingSystem(gate: gate).makeSession(configuration)
    }
}

extension SecureSession {
    func text(_ request: LoadRequest) async throws -> String {
        String(decoding: try await data(for: request).body, as: UTF8.self)
    }
}

/// Answers with what it was asked for, and with secrets.
final class Origin: Sendable {
    let server: TestServer

    init() throws {
        server = try TestServer { connection in
            while let head = connection.readHead() {
                let target = head.split(separator: " ").dropFirst().first.map(String.init) ?? ""
                let length =
                    head.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length: ") }
                    .flatMap { Int($0.dropFirst(16)) } ?? 0
                var body: [UInt8] = []
                while body.count < length {
                    let bytes = connection.read()
                    if bytes.isEmpty { return }
                    body += bytes
                }
                connection.write(Self.answer(head, target, body))
            }
        }
    }

    private static func answer(_ head: String, _ target: String, _ body: [UInt8]) -> [UInt8] {
        if target.hasPrefix("/moved") {
            return Array("HTTP/1.1 302 F\r\nLocation: /end?token=planted-token\r\nContent-Length: 0\r\n\r\n".utf8)
        }
        var content = Array("\(head.prefix { $0 != " " }) \(target) ".utf8) + body
        if target == "/bytes" { content = [0, 255, 13, 10, 128] }
        if target.hasPrefix("/long/") { content = [UInt8](repeating: 97, count: Int(target.dropFirst(6)) ?? 0) }
        let status = target == "/missing" ? "404 Gone Fishing" : "200 OK"
        let fields = """
            HTTP/1.1 \(status)\r\nSet-Cookie: a=planted-cookie\r\nX-Reply: planted-reply\r\nX-Kind: seen\r\n\
            Content-Type: text/plain\r\nContent-Length: \(content.count)\r\n\r\n
            """
        return Array(fields.utf8) + (head.hasPrefix("HEAD") ? [] : content)
    }

    func request(_ target: String, _ method: HTTPRequest.Method = .get, body: String? = nil) throws -> LoadRequest {
        LoadRequest(method, try server.url(target), body: body.map { .text($0) })
    }
}

/// Makes a cassette, records with it, and gives what the file holds.
func recorded(
    _ settings: CassetteSettings = CassetteSettings(), in folder: TemporaryDirectory,
    _ load: (SecureSession) async throws -> Void
) async throws -> String {
    let path = folder.file("cassette.json")
    let cassette = try await Cassette.open(path, mode: .record, settings: settings)
    try await load(cassette.session(OpenGate()))
    try await cassette.save()
    return try String(contentsOfFile: path, encoding: .utf8)
}

func mismatch(_ load: () async throws -> Void) async throws -> CassetteError {
    do {
        try await load()
    } catch let error as LoadError {
        guard error.code == .handlerFailed, let cause = error.underlying as? CassetteError else { throw error }
        return cause
    }
    throw Unexpected("The load did not fail.")
}
