import SallyportBase
import SallyportCore
import Testing

@testable import SallyportDoor

/// What programs say first, read whole and byte by byte.
struct GreetingTests {
    /// Feeds the bytes, in one piece and one by one, and expects the same.
    private func step(
        _ bytes: [UInt8], _ rules: GreetingRules = GreetingRules(), after replies: [[UInt8]] = []
    ) -> GreetingStep {
        let whole = last(of: [bytes], rules)
        let single = last(of: bytes.map { [$0] }, rules)
        #expect(whole.step == single.step || isRequest(whole.step))
        #expect(whole.replies == single.replies && whole.replies == replies)
        return whole.step
    }

    /// A request holds what came behind it, which comes later byte by byte.
    private func isRequest(_ step: GreetingStep) -> Bool { if case .request = step { true } else { false } }

    private func last(of chunks: [[UInt8]], _ rules: GreetingRules) -> (step: GreetingStep, replies: [[UInt8]]) {
        var greeting = Greeting(rules)
        var replies: [[UInt8]] = []
        for chunk in chunks {
            var step = greeting.take(chunk)
            while case .reply(let reply) = step {
                replies.append(reply)
                step = greeting.take([])
            }
            if step != .more { return (step, replies) }
        }
        return (.more, replies)
    }

    private func http(_ text: String, _ rules: GreetingRules = GreetingRules()) -> GreetingStep {
        step(Array(text.utf8), rules)
    }

    private func refusal(_ step: GreetingStep) -> String? {
        if case .refuse(_, let refusal) = step { refusal.name } else { nil }
    }

    // MARK: SOCKS

    private static let name = Array("wiki.corp.example".utf8)
    private static let connect: [UInt8] = [5, 1, 0, 3, UInt8(name.count)] + name + [1, 187]

    @Test func socksLeadsToANameThatIsNotLookedUp() throws {
        let request = DoorRequest(form: .socks5, target: try Endpoint("wiki.corp.example:443"))
        #expect(step([5, 1, 0] + Self.connect, after: [[5, 0]]) == .request(request))
        #expect(step([5, 2, 2, 0] + Self.connect, after: [[5, 0]]) == .request(request))
    }

    @Test func socksTakesAddressesOfBothFamilies() throws {
        let ipv4 = DoorRequest(form: .socks5, target: try Endpoint("10.0.0.1:80"))
        #expect(step([5, 1, 0, 5, 1, 0, 1, 10, 0, 0, 1, 0, 80], after: [[5, 0]]) == .request(ipv4))
        let ipv6 = DoorRequest(form: .socks5, target: try Endpoint("[::1]:80"))
        let one = [UInt8](repeating: 0, count: 15) + [1]
        #expect(step([5, 1, 0, 5, 1, 0, 4] + one + [0, 80], after: [[5, 0]]) == .request(ipv6))
    }

    @Test func bytesBehindARequestGoToTheServer() {
        guard case .request(let socks) = last(of: [[5, 1, 0] + Self.connect + [7, 8]], GreetingRules()).step,
            case .request(let http) = last(of: [Array("CONNECT a:1 HTTP/1.1\r\n\r\nxy".utf8)], GreetingRules()).step
        else {
            Issue.record("No request.")
            return
        }
        #expect(socks.rest == [7, 8] && http.rest == Array("xy".utf8))
    }

    @Test(arguments: [(2, 7), (3, 7), (9, 7)] as [(UInt8, UInt8)])
    func bindAndUDPAreRefusedByTheirCode(command: UInt8, code: UInt8) {
        let request: [UInt8] = [5, command, 0, 1, 10, 0, 0, 1, 0, 80]
        guard case .refuse(let answer, _) = step([5, 1, 0] + request, after: [[5, 0]]) else {
            Issue.record("It is not refused.")
            return
        }
        #expect(answer[1] == code)
    }

    @Test func socks4IsRefusedByItsCode() {
        #expect(step([4, 1, 0, 80, 10, 0, 0, 1, 0]) == .refuse([0, 0x5b, 0, 0, 0, 0, 0, 0], .socks4))
    }

    @Test func invalidSOCKSIsRefused() {
        #expect(refusal(step([5, 1, 9])) == "socksMethod")
        #expect(refusal(step([5, 0])) == "socksMethod")
        #expect(refusal(step([5, 1, 0, 6, 1, 0, 1], after: [[5, 0]])) == "notSOCKS")
        #expect(refusal(step([5, 1, 0, 5, 1, 0, 7], after: [[5, 0]])) == "socksAddressType")
        #expect(refusal(step([5, 1, 0, 5, 1, 0, 3, 1, 0x20, 0, 80], after: [[5, 0]])) == "socksTarget")
        #expect(refusal(step([5, 1, 0, 5, 1, 0, 3, 0, 0, 80], after: [[5, 0]])) == "socksTarget")
        #expect(refusal(step([5, 1, 0, 5, 1, 0, 1, 10, 0, 0, 1, 0, 0], after: [[5, 0]])) == "socksTarget")
        #expect(
            refusal(step([5, 1, 0, 5, 1, 0, 3, 4] + Array("a%62".utf8) + [0, 80], after: [[5, 0]])) == "socksTarget")
    }

    @Test func socksPasswordDecidesForOtherUsers() throws {
        let credential = DoorCredential()
        let rules = GreetingRules(credential: credential)
        let password = Array(credential.password.reveal().utf8)
        let shown: [UInt8] = [5, 2, 0, 2, 1, 1, 0x61, UInt8(password.count)] + password
        let request = DoorRequest(form: .socks5, target: try Endpoint("wiki.corp.example:443"))
        #expect(step(shown + Self.connect, rules, after: [[5, 2], [1, 0]]) == .request(request))
        var wrong = shown
        wrong[wrong.count - 1] ^= 1
        #expect(step(wrong, rules, after: [[5, 2]]) == .refuse([1, 1], .credentialRefused))
        #expect(step([5, 1, 0], rules) == .refuse([5, 0xff], .credentialMissing))
    }

    @Test func aPasswordThatIsNotNeededIsTaken() throws {
        let request = DoorRequest(form: .socks5, target: try Endpoint("wiki.corp.example:443"))
        #expect(step([5, 1, 2, 1, 1, 0x61, 1, 0x62] + Self.connect, after: [[5, 2], [1, 0]]) == .request(request))
    }

    // MARK: HTTP

    @Test func connectLeadsToAServer() throws {
        let request = DoorRequest(form: .connect, target: try Endpoint("wiki.corp.example:443"))
        #expect(http("CONNECT wiki.corp.example:443 HTTP/1.1\r\nHost: other\r\n\r\n") == .request(request))
        #expect(http("CONNECT WIKI.corp.example.:443 HTTP/1.0\r\n\r\n") == .request(request))
    }

    @Test func anAbsoluteRequestBecomesOneOfOriginForm() throws {
        let text =
            "GET http://wiki.corp.example/a?b=c HTTP/1.1\r\nHost: evil\r\nAccept: */*\r\nConnection: keep-alive, X-A\r\n"
            + "X-A: 1\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: Basic eHl6\r\nUpgrade: h2c\r\nTE: gzip\r\n\r\n"
        guard case .request(let request) = http(text) else {
            Issue.record("No request.")
            return
        }
        #expect(request.target == (try Endpoint("wiki.corp.example:80")))
        let head =
            "GET /a?b=c HTTP/1.1\r\nHost: wiki.corp.example\r\nAccept: */*\r\nVia: 1.1 sallyport\r\n"
            + "Connection: close\r\n\r\n"
        #expect(String(decoding: request.head, as: UTF8.self) == head)
    }

    /// The lines of the head that goes to the server.
    private func onwardLines(_ text: String) -> [String]? {
        guard case .request(let request) = http(text) else { return nil }
        return request.head.split { $0 == 13 || $0 == 10 }.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: [
        ("GET http://a.example/items?filter[a]=1&b=%zz|^`{}\"<>\\", "GET /items?filter[a]=1&b=%zz|^`{}\"<>\\"),
        ("GET http://a.example/bucket/a/../b/./%2e%2E//c/..", "GET /bucket/a/../b/./%2e%2E//c/.."),
        ("GET http://a.example/\u{e9}?\u{e9}", "GET /\u{e9}?\u{e9}"),
        ("GET http://a.example:8080/x?/y?#z?", "GET /x?/y?"), ("GET HTTP://A.EXAMPLE/x?", "GET /x?"),
        ("GET http://a.example?b=/c", "GET /?b=/c"), ("GET http://a.example#b/c", "GET /"),
        ("GET http://[::1]:8080", "GET /"), ("OPTIONS http://a.example", "OPTIONS *"),
        ("OPTIONS http://a.example:8080#b", "OPTIONS *"), ("OPTIONS http://a.example/", "OPTIONS /"),
        ("OPTIONS http://a.example?b", "OPTIONS /?b"),
    ])
    func pathAndQueryArriveAsTheyWereSent(_ sent: String, _ arrived: String) {
        #expect(onwardLines("\(sent) HTTP/1.1\r\n\r\n")?.first == "\(arrived) HTTP/1.1")
    }

    @Test func maxForwardsCountsTheProxiesOfOptionsAndTrace() {
        func lines(_ method: String, _ fields: String) -> [String]? {
            onwardLines("\(method) http://a.example/ HTTP/1.1\r\n\(fields)\r\n")
        }
        for method in ["OPTIONS", "TRACE"] {
            #expect(lines(method, "Max-Forwards: 10\r\n")?.contains("Max-Forwards: 9") == true)
            #expect(lines(method, "")?.count == 4)
            for fields in ["Max-Forwards: x\r\n", "Max-Forwards: 1\r\nMax-Forwards: 1\r\n", "Max-Forwards: -1\r\n"] {
                #expect(lines(method, fields) == nil, "\(fields)")
            }
            let last = http("\(method) http://a.example/ HTTP/1.1\r\nMax-Forwards: 0\r\n\r\n")
            #expect(refusal(last) == "maxForwards")
        }
        #expect(lines("GET", "Max-Forwards: 0\r\n")?.contains("Max-Forwards: 0") == true)
    }

    @Test func theBodyOfAnAbsoluteRequestIsFramedOnce() {
        func framing(_ fields: String, _ version: Int = 1) -> RequestFraming? {
            guard case .request(let request) = http("POST http://a.example/ HTTP/1.\(version)\r\n\(fields)\r\n") else {
                return nil
            }
            return request.body
        }
        #expect(framing("") == RequestFraming.none && framing("Content-Length: 0\r\n") == RequestFraming.none)
        #expect(framing("Content-Length: 12\r\n") == .length(12))
        #expect(framing("Transfer-Encoding: chunked\r\n") == .chunked)
        #expect(framing("Connection: transfer-encoding\r\nTransfer-Encoding: chunked\r\n") == .chunked)
        for fields in [
            "Content-Length: 1\r\nContent-Length: 2\r\n", "Content-Length: 1\r\nContent-Length: 1\r\n",
            "Content-Length: 0\r\nContent-Length: 0\r\n", "Content-Length: 1, 1\r\n", "Content-Length: +1\r\n",
            "Content-Length: \r\n", "Content-Length: 99999999999999999999\r\n", "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        ] { #expect(framing(fields) == nil, "\(fields)") }
        #expect(framing("Transfer-Encoding: chunked\r\n", 0) == nil)
    }

    @Test func requestsOfServersAreRefused() {
        #expect(refusal(http("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")) == "originForm")
        #expect(refusal(http("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")) == "originForm")
        #expect(refusal(http("GET /proxy.pac HTTP/1.1\r\n\r\n")) == "originForm")
        #expect(http("GET /proxy.pac HTTP/1.1\r\n\r\n", GreetingRules(servesProxyFile: true)) == .proxyFile)
    }

    @Test(arguments: [
        "GET https://a.example/ HTTP/1.1\r\n\r\n", "GET ftp://a.example/ HTTP/1.1\r\n\r\n",
        "GET http://a.example/\t HTTP/1.1\r\n\r\n", "GET \thttp://a.example/ HTTP/1.1\r\n\r\n",
        "GET http://user:secret@a.example/ HTTP/1.1\r\n\r\n", "GET http:///x HTTP/1.1\r\n\r\n",
        "CONNECT a.example HTTP/1.1\r\n\r\n", "CONNECT a.example:0 HTTP/1.1\r\n\r\n",
        "CONNECT http://a/ HTTP/1.1\r\n\r\n",
        "CONNECT a@b:443 HTTP/1.1\r\n\r\n", "CONNECT a%2eb:443 HTTP/1.1\r\n\r\n",
        "CONNECT a:1 HTTP/1.1\r\nContent-Length: 3\r\n\r\n", "CONNECT a:1 HTTP/2.0\r\n\r\n",
        "CONNECT  a:1 HTTP/1.1\r\n\r\n",
        "CONNECT a:1 HTTP/1.1\nHost: a\r\n\r\n", "CONNECT a:1 HTTP/1.1\r\nA : b\r\n\r\n",
        "CONNECT a:1 HTTP/1.1\r\nA: b\r\n c\r\n\r\n", "CONNECT a:1 HTTP/1.1\r\nA: b\0\r\n\r\n",
        "CONNECT a:1 HTTP/1.1\r\nA: b\rc\r\n\r\n", "CONNECT a:1 HTTP/1.1\r\nno field\r\n\r\n", "\r\n\r\n",
        "\u{16}\u{3}\u{1}",
    ])
    func whatCanBeUnderstoodInTwoWaysIsRefused(_ text: String) { #expect(refusal(http(text)) != nil) }

    @Test func headsHaveTheirLimits() {
        let many = String(repeating: "A: b\r\n", count: 201)
        #expect(refusal(http("CONNECT a:1 HTTP/1.1\r\n\(many)\r\n")) == "headTooLarge")
        let long = "CONNECT a:1 HTTP/1.1\r\nA: " + String(repeating: "b", count: 70_000)
        #expect(refusal(last(of: [Array(long.utf8)], GreetingRules()).step) == "headTooLarge")
        #expect(refusal(last(of: [Array(repeating: 0x41, count: 100)], GreetingRules()).step) == "notHTTP")
    }

    @Test func otherUsersNeedTheCredential() throws {
        let credential = try DoorCredential(String(repeating: "k", count: 43))
        let rules = GreetingRules(credential: credential)
        let head = "CONNECT a.example:1 HTTP/1.1\r\n"
        #expect(refusal(http(head + "\r\n", rules)) == "credentialMissing")
        // sallyport:kkk…
        let right = "c2FsbHlwb3J0Omtra2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="
        #expect(isRequest(http(head + "Proxy-Authorization: Basic \(right)\r\n\r\n", rules)))
        #expect(isRequest(http(head + "proxy-authorization: basic \(right)\r\n\r\n", rules)))
        #expect(refusal(http(head + "Proxy-Authorization: Basic eDp5\r\n\r\n", rules)) == "credentialRefused")
        #expect(refusal(http(head + "Proxy-Authorization: Basic !\r\n\r\n", rules)) == "credentialMissing")
        guard case .refuse(let answer, _) = http(head + "\r\n", rules) else { return }
        let text = String(decoding: answer, as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.1 407 ") && text.contains("Proxy-Authenticate: Basic realm="))
    }
}
