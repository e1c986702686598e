import SallyportCore
import Testing

@testable import SallyportGateway

@Suite struct ConnectRequestTests {
    private func request(_ head: String) throws -> ConnectRequest {
        try ConnectRequest(head: Array(head.utf8))
    }

    @Test(arguments: [
        ("intranet.corp.example:443", "intranet.corp.example:443"),
        ("INTRANET.corp.example.:443", "intranet.corp.example:443"),
        ("0x7f.1:80", "127.0.0.1:80"), ("2130706433:80", "127.0.0.1:80"), ("%6cocalhost:80", "localhost:80"),
        ("[::1]:8443", "[::1]:8443"), ("xn--bcher-kva.example:443", "xn--bcher-kva.example:443"),
        ("bücher.example:443", "xn--bcher-kva.example:443"),
    ])
    func canonicalisesTheTarget(authority: String, target: String) throws {
        let request = try request("CONNECT \(authority) HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(request.target.description == target)
    }

    @Test(arguments: [
        "CONNECT a.example HTTP/1.1\r\nHost: a\r\n\r\n", "CONNECT a.example:0 HTTP/1.1\r\nHost: a\r\n\r\n",
        "CONNECT a.example:65536 HTTP/1.1\r\nHost: a\r\n\r\n", "CONNECT :443 HTTP/1.1\r\nHost: a\r\n\r\n",
        "CONNECT ::1:443 HTTP/1.1\r\nHost: a\r\n\r\n", "CONNECT u@a.example:443 HTTP/1.1\r\nHost: a\r\n\r\n",
        "CONNECT https://a.example:443/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "CONNECT  a.example:443 HTTP/1.1\r\nHost: a\r\n\r\n",
        "CONNECT a.example:443\r\nHost: a\r\n\r\n", "CONNECT a.example:443 HTTP/1.1 \r\nHost: a\r\n\r\n",
        "C(NNECT a.example:443 HTTP/1.1\r\nHost: a\r\n\r\n", "\r\n\r\n", "CONNECT a.example:443 HTCPCP/1.0\r\n\r\n",
        "CONNECT a.example:443 HTTP/1.1\r\n\r\n", "CONNECT a.example:443 HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        "CONNECT a.example:443 HTTP/1.1\r\nHost : a\r\n\r\n", "CONNECT a.example:443 HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
        "CONNECT a.example:443 HTTP/1.1\r\nHost: a\u{0}\r\n\r\n",
        "CONNECT a.example:443 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n",
        "CONNECT a.example:443 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
    ])
    func refusesWhatIsMalformed(head: String) throws {
        let refusal = #expect(throws: RelayRefusal.self) { try request(head) }
        #expect(refusal?.status == 400)
        #expect(refusal?.error == "http_request_error")
    }

    @Test(arguments: [("GET", "HTTP/1.1", 405), ("connect", "HTTP/1.1", 405), ("CONNECT", "HTTP/2.0", 505)])
    func refusesOtherMethodsAndVersions(method: String, version: String, status: Int) {
        let refusal = #expect(throws: RelayRefusal.self) {
            try request("\(method) a.example:443 \(version)\r\nHost: a\r\n\r\n")
        }
        #expect(refusal?.status == status)
    }

    @Test func anHTTP10RequestNeedsNoHost() throws {
        #expect(try request("CONNECT a.example:443 HTTP/1.0\r\n\r\n").target.port == 443)
    }
}

@Suite struct ConnectHeadTests {
    private static let text = "CONNECT a.example:443 HTTP/1.1\r\nHost: a\r\n\r\n"

    @Test(arguments: 1...text.utf8.count)
    func findsTheEndHoweverItIsCut(size: Int) {
        var head = ConnectHead(limit: 8192)
        let bytes = Array(Self.text.utf8) + Array("early".utf8)
        var start = 0
        while true {
            let piece = bytes[start..<min(start + size, bytes.count)]
            if case .complete(let consumed) = head.append(piece) {
                #expect(start + consumed == Self.text.utf8.count)
                break
            }
            start += size
        }
        #expect(head.bytes == Array(Self.text.utf8))
    }

    @Test func theLimitIsExactToTheByte() {
        let bytes = Array(Self.text.utf8)
        var exact = ConnectHead(limit: bytes.count)
        #expect(exact.append(bytes) == .complete(consumed: bytes.count))
        var short = ConnectHead(limit: bytes.count - 1)
        guard case .refused(let refusal) = short.append(bytes) else {
            Issue.record("One over was taken.")
            return
        }
        #expect(refusal.status == 431)
    }

    @Test(arguments: ["CONNECT a:1 HTTP/1.1\n", "CONNECT a:1\r HTTP/1.1\r\n", "\n", "A\r\rB"])
    func aLoneLineFeedOrReturnIsRefused(text: String) {
        var head = ConnectHead(limit: 8192)
        guard case .refused(let refusal) = head.append(Array(text.utf8)) else {
            Issue.record("It was taken.")
            return
        }
        #expect(refusal.status == 400)
    }

    @Test(arguments: [7, 99, 12345])
    func noiseNeverTraps(seed: Int) throws {
        var state = UInt64(seed)
        for _ in 0..<500 {
            var head = ConnectHead(limit: 512)
            var bytes: [UInt8] = []
            for _ in 0..<64 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                bytes.append([13, 10, 32, 58, 91, 93, 0, 255, 67, 49][Int(state >> 33) % 10])
            }
            _ = head.append(bytes)
            _ = try? ConnectRequest(head: bytes)
        }
    }
}

@Suite struct AddressCheckTests {
    private let check = AddressCheck(ownPorts: [17533]) { [.v4(0x0a00_0001)] }

    @Test(arguments: [
        "127.0.0.1", "127.9.9.9", "0.0.0.0", "169.254.169.254", "224.0.0.1", "255.255.255.255", "::1", "::",
        "fe80::1", "ff02::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:7f00:1::",
    ])
    func forbidsAddressesThatAreNotAServers(address: String) throws {
        #expect(!check.permits(try #require(IPAddress(address)), port: 443))
    }

    @Test func ownListenersAreForbiddenAtEachAddressOfTheHost() {
        #expect(!check.permits(.v4(0x0a00_0001), port: 17533))
        #expect(check.permits(.v4(0x0a00_0001), port: 443))
        #expect(check.permits(.v4(0x0a00_0002), port: 17533))
    }

    @Test func oneForbiddenAddressRefusesTheWholeAnswer() {
        let refusal = #expect(throws: RelayRefusal.self) {
            try check.check([.v4(0x0a00_0002), .v4(0x7f00_0001)], port: 443)
        }
        #expect(refusal?.error == "destination_ip_prohibited")
    }
}
