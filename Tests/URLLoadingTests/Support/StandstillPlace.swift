import Glibc
import HTTPTypes
import SallyportCore
import SallyportLoading
import TestSupport

/// A byte of an exchange at which it can stand still.
struct StandstillPlace: Sendable, CustomStringConvertible {
    enum Exchange: String, CaseIterable, Sendable {
        /// An answer of an interim head, a head, chunks, and trailers.
        case chunks
        /// An answer with a length, whose body is gathered into one array.
        case length
        /// A body that is sent at once.
        case upload
        /// A body that waits for `100 Continue`, and is sent then.
        case expectation

        /// What the server sends. It pauses between the pieces, so that each is read by itself.
        var pieces: [String] {
            switch self {
            case .chunks:
                [
                    "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
                        + "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n"
                        + "5;a=b\r\nhello\r\n7\r\n, world\r\n0\r\nT: 1\r\n\r\n"
                ]
            case .length: ["HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n", "hello, world"]
            case .upload: []
            case .expectation: ["HTTP/1.1 100 Continue\r\n\r\n"]
            }
        }

        /// In bytes.
        var answer: Int { pieces.reduce(0) { $0 + $1.utf8.count } }

        /// Of the request's body, in bytes; none if the request has no body.
        var upload: Int {
            switch self {
            case .chunks, .length: 0
            case .upload: 48
            case .expectation: 16
            }
        }
    }

    let exchange: Exchange
    /// How many bytes there were before: of the server, and once those are all there, of the request's body.
    let count: Int

    static let all: [StandstillPlace] = Exchange.allCases.flatMap { exchange in
        (0..<exchange.answer + exchange.upload).map { StandstillPlace(exchange: exchange, count: $0) }
    }

    var path: String { "/\(exchange.rawValue)/\(count)" }
    var description: String { "byte \(count) of \(exchange)" }

    private var answer: Int { min(count, exchange.answer) }
    private var upload: Int { count - answer }
    /// Every other body has no length that is known, and comes in a chunk.
    private var isChunked: Bool { !count.isMultiple(of: 2) }

    // MARK: Client

    /// The request of an exchange that comes here, and no further.
    func request(to url: RequestURL) -> LoadRequest {
        var request = LoadRequest(exchange.upload == 0 ? .get : .put, url)
        guard exchange.upload > 0 else { return request }
        let upload = upload
        request.body = .restartable(length: isChunked ? nil : Int64(exchange.upload)) { writer in
            if upload > 0 { try await writer.write([UInt8](repeating: 1, count: upload)) }
            try await Task.sleep(for: .seconds(60))
        }
        guard exchange == .expectation else { return request }
        // The field as well: over a plugin's stream, it alone makes the body wait.
        request.headerFields[.expect] = "100-continue"
        request.options.continueTimeout = .seconds(60)
        return request
    }
}

// MARK: Server

extension StandstillPlace {
    /// The place that the head of a request names; nil if it names none, or its body does not wait as it should.
    init?(named head: String) {
        let path = head.split(separator: " ").dropFirst().first?.split(separator: "/") ?? []
        guard path.count == 2, let exchange = Exchange(rawValue: String(path[0])), let count = Int(path[1]),
            exchange != .expectation || head.contains("Expect: 100-continue\r\n")
        else { return nil }
        self.init(exchange: exchange, count: count)
    }

    /// Lets an exchange come here.
    ///
    /// - Parameter isByteByByte: whether each byte of the server is written by itself.
    /// - Returns: whether it has come here.
    func isReached(with client: any TestStream, isByteByByte: Bool) -> Bool {
        answers(client, isByteByByte) && takesUpload(of: client)
    }

    private func answers(_ client: any TestStream, _ isByteByByte: Bool) -> Bool {
        var rest = answer
        for piece in exchange.pieces where rest > 0 {
            if rest < answer { usleep(20_000) }
            let bytes = Array(piece.utf8.prefix(rest))
            let parts = isByteByByte ? bytes.map { [$0] } : [bytes]
            guard parts.allSatisfy({ client.write($0) }) else { return false }
            rest -= bytes.count
        }
        return true
    }

    private func takesUpload(of client: any TestStream) -> Bool {
        guard upload > 0 else { return true }
        // Before a chunk stands its size, and line breaks end both.
        var rest = isChunked ? String(upload, radix: 16).utf8.count + upload + 4 : upload
        while rest > 0 {
            let bytes = client.read(upTo: rest)
            if bytes.isEmpty { return false }
            rest -= bytes.count
        }
        return true
    }
}
