import SallyportBase
import SallyportCore
import SallyportLoading

extension FuzzTarget {
    static let core = [url, reference, host, endpoint, address, percent, policy]

    private static let urlWords = [
        "http://", "https://", "://", "//", "@", ":", "[", "]", "%2e", "%00", "..", "/./", "?", "#", "localhost",
        "xn--",
        "ü", "。", "127.1", "0x7f", "::1", ":443", "sallyport:", "\u{200d}", "ß",
    ]

    private static let url = FuzzTarget("url", text: urlWords) { text throws(BrokenProperty) in
        guard let url = try? RequestURL(text) else { return }
        try demandRoundTrip(url, \.description) { try RequestURL($0) }
        let printed = url.absoluteText.utf8
        try demand(!printed.contains { $0 <= 0x20 || $0 == 0x7f }, "A URL is printed with white space: \(url)")
        try demand(url.endpoint == nil || url.target.utf8.first == 0x2f, "A target does not begin with a slash: \(url)")
    }

    /// The first line is the base, the rest what is resolved against it.
    private static let reference = FuzzTarget("reference", text: urlWords + ["\n"]) { text throws(BrokenProperty) in
        let parts = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let base = try? RequestURL(String(parts[0])),
            let target = try? base.resolving(String(parts[1]))
        else { return }
        if target.endpoint != nil { try demandRoundTrip(target, \.description) { try RequestURL($0) } }
        try demand(!"\(target.target)".utf8.contains { $0 <= 0x20 }, "A target holds white space: \(target)")
    }

    private static let host = FuzzTarget("host", text: urlWords) { text throws(BrokenProperty) in
        guard let host = try? Host(text) else { return }
        try demandRoundTrip(host, \.description) { try Host($0) }
        let isPlain = host.description.utf8.allSatisfy { 0x21...0x7e ~= $0 && !(0x41...0x5a ~= $0) }
        try demand(isPlain, "A host is not lower-case ASCII: \(host)")
    }

    private static let endpoint = FuzzTarget("endpoint", text: urlWords) { text throws(BrokenProperty) in
        guard let endpoint = try? Endpoint(text, defaultPort: 443) else { return }
        try demandRoundTrip(endpoint, \.description) { try Endpoint($0) }
    }

    private static let address = FuzzTarget("address", words: ["::", ":", ".", "ffff", "255", "0x", "1.2.3.4"]) {
        bytes throws(BrokenProperty) in
        if let address = IPAddress(String(decoding: bytes, as: UTF8.self)) {
            try demandRoundTrip(address, \.description) { IPAddress($0) }
        }
        if let address = IPAddress(bytes: bytes) {
            try demand(address.bytes == bytes, "Bytes of an address come out as others.")
            try demandRoundTrip(address, \.description) { IPAddress($0) }
        }
    }

    private static let percent = FuzzTarget("percent", text: ["%", "%2", "%2f", "%%", "%zz"]) {
        text throws(BrokenProperty) in
        _ = PercentCoding.decoded(text)
        let encoded = PercentCoding.encoded(text) { 0x30...0x39 ~= $0 || 0x41...0x5a ~= $0 || 0x61...0x7a ~= $0 }
        try demand(PercentCoding.decoded(encoded) != nil, "What is encoded cannot be decoded.")
        let again = PercentCoding.encoded(encoded) { 0x30...0x39 ~= $0 || 0x41...0x5a ~= $0 || 0x61...0x7a ~= $0 }
        try demand(again == encoded, "What is encoded changes when it is encoded again.")
    }

    private static let policy = FuzzTarget("policy", text: ["relay", ":", "direct", "deny", "sha256/", "=="]) {
        text throws(BrokenProperty) in
        if let route = Route(text) { try demandRoundTrip(route, \.description) { Route($0) } }
        _ = PublicKeyPin(text)
    }
}
