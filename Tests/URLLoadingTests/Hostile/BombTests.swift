import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing
import TransportTestSupport

@testable import SallyportURLLoading

/// Bodies that grow: a small answer that would fill the memory.
@Suite(.timeLimit(.minutes(2)), .onBothEngines) struct BombTests {
    struct Bomb: Sendable, CustomTestStringConvertible {
        let codings: [Deflater.Format]
        /// Bytes, once all codings are undone.
        let length: Int
        var testDescription: String { "\(codings) of \(length)" }

        var name: String { codings.map { $0 == .gzip ? "gzip" : "deflate" }.joined(separator: ", ") }

        var bytes: [UInt8] {
            codings.reduce([UInt8](repeating: 0, count: length)) { Deflater.compress($0, $1) }
        }
    }

    private static func server(_ encoding: String, _ body: [UInt8]) throws -> TestServer {
        try TestServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write(
                "HTTP/1.1 200 OK\r\nContent-Encoding: \(encoding)\r\nContent-Length: \(body.count)\r\n\r\n")
            connection.write(body)
            connection.finish()
        }
    }

    @Test(arguments: [
        Bomb(codings: [.gzip], length: 64 << 20), Bomb(codings: [.zlib], length: 64 << 20),
        Bomb(codings: [.raw], length: 64 << 20), Bomb(codings: [.gzip, .gzip], length: 64 << 20),
        Bomb(codings: [.gzip, .zlib, .gzip, .raw], length: 64 << 20),
    ])
    func aBombIsNotUnpacked(_ bomb: Bomb) async throws {
        let server = try Self.server(bomb.name, bomb.bytes)
        let failure = try await Ordeal().failure(server, upTo: .mebibytes(256))
        #expect(failure?.code == .decodingFailed, "\(String(describing: failure))")
    }

    @Test func aBombWithinItsLimitEndsWhereTheCollectionDoes() async throws {
        let server = try Self.server("gzip", Bomb(codings: [.gzip], length: 1_000_000).bytes)
        let failure = try await Ordeal().failure(server, upTo: .kibibytes(64))
        #expect(failure?.code == .responseTooLarge, "\(String(describing: failure))")
    }

    @Test(arguments: [5, 1000]) func moreThanFourCodingsAreRefused(_ count: Int) async throws {
        let name = Array(repeating: "gzip", count: count).joined(separator: ", ")
        let failure = try await Ordeal().failure(Self.server(name, [1, 2, 3]))
        #expect(failure?.code == .decodingFailed, "\(String(describing: failure))")
    }

    /// A gzip body may have several members, also empty ones, of which endless many make nothing.
    @Test func membersWithoutAnEndMakeNothing() async throws {
        let member = Deflater.compress([], .gzip)
        let many = Array(repeating: member, count: 1_000_000 / member.count).flatMap { $0 }
        let answer = try await Ordeal().load(Self.server("gzip", many), upTo: .bytes(0))
        #expect(answer.body.isEmpty)
    }

    @Test(arguments: ["gzip", "deflate"]) func bodiesThatDoNotMatchTheirCodingAreRefused(_ name: String) async throws {
        let failure = try await Ordeal().failure(Self.server(name, Array("<html>plain</html>".utf8)))
        #expect(failure?.code == .decodingFailed, "\(String(describing: failure))")
    }

    @Test func aCodedBodyThatEndsEarlyIsRefused() async throws {
        let whole = Deflater.compress(Array(0...255), .gzip)
        let failure = try await Ordeal().failure(Self.server("gzip", whole.dropLast(9) + []))
        #expect(failure?.code == .decodingFailed, "\(String(describing: failure))")
    }

    @Test func aBombInATransferCodingIsRefused() async throws {
        let body = Bomb(codings: [.gzip], length: 64 << 20).bytes
        let hostile = HostileCase("gzip as a transfer coding", .protocolViolation) { connection in
            connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n")
            connection.write(body)
        }
        let failure = try await Ordeal().failure(hostile.server())
        #expect(failure?.code == hostile.code, "\(String(describing: failure))")
    }
}
