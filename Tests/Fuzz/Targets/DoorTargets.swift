import SallyportCore

@testable import SallyportDoor

extension FuzzTarget {
    static let door = [greeting, onwardBody]

    /// The same comes out whether the bytes come together or one by one; what goes on to a server is one head without the
    /// fields that are for the proxy.
    private static let greeting = FuzzTarget(
        "door-greeting",
        words: [
            "CONNECT ", "GET http://", "a.example", ":443", " HTTP/1.1\r\n", " HTTP/1.0\r\n", "Host: a\r\n",
            "Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n", "Connection: close\r\n",
            "Proxy-Authorization: Basic YTpi\r\n", "\r\n", "\r\n\r\n", "\u{5}\u{1}\0", "\u{5}\u{1}\0\u{3}\u{1}a\0P",
            "\u{1}\u{1}a\u{1}b", "\u{4}\u{1}",
        ]
    ) { input throws(BrokenProperty) in
        let whole = outcome(of: [input])
        try demand(whole == outcome(of: input.map { [$0] }), "Bytes one by one are read as something else.")
        guard case .request(let request) = whole, request.form == .http else { return }
        let head = String(decoding: request.head, as: UTF8.self)
        try demand(head.hasSuffix("\r\nConnection: close\r\n\r\n"), "A head does not end as one.")
        try demand(head.components(separatedBy: "\r\n\r\n") == 2, "There are two heads.")
        try demand(!head.lowercased().contains("\r\nproxy-authorization:"), "A credential goes on.")
    }

    /// Without what came behind a request.
    private static func outcome(of chunks: [[UInt8]]) -> GreetingStep {
        var greeting = Greeting(GreetingRules())
        for chunk in chunks {
            var step = greeting.take(chunk)
            while case .reply = step { step = greeting.take([]) }
            guard step == .more else {
                if case .request(var request) = step {
                    request.rest = []
                    return .request(request)
                }
                return step
            }
        }
        return .more
    }

    /// The end of a body is found at the same byte however its bytes are cut.
    private static let onwardBody = FuzzTarget(
        "door-body", words: ["3\r\nabc\r\n", "0\r\n", "\r\n", "a;b=c\r\n", "T: v\r\n", "ffff", "\r", "\n"]
    ) { input throws(BrokenProperty) in
        try demand(
            end(of: [input]) == end(of: input.map { [$0] }), "A body ends elsewhere if its bytes come one by one.")
    }

    /// How many bytes belong to the body; nil if it is broken.
    private static func end(of chunks: [[UInt8]]) -> Int? {
        var body = OnwardBody(.chunked)
        var count = 0
        for chunk in chunks {
            guard body.take(chunk) else { return nil }
            guard !body.isWhole else { return count + body.lastPart(of: chunk).count }
            count += chunk.count
        }
        return count
    }
}

extension String {
    fileprivate func components(separatedBy mark: String) -> Int {
        var (count, rest) = (1, self[...])
        while let range = rest.firstRange(of: mark) {
            count += 1
            rest = rest[range.upperBound...]
        }
        return count
    }
}
