import HTTPTypes
import SallyportBase
import SallyportConnecting
import SallyportCore
import SallyportHTTPAuthentication
import SallyportLoading

@testable import SallyportTransport
@testable import SallyportURLLoading

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension FuzzTarget {
    static let web = [challenges, digest, ntlm, head, relayAnswer, redirect, content, resumption, pem, versions]

    private static let challenges = FuzzTarget(
        "challenges", text: ["Basic", "Digest", " realm=", "\"", "\\\"", ",", "=", "==", "nonce", "Negotiate ", "\n"]
    ) { text throws(BrokenProperty) in
        let fields = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let offered = ChallengeParser.parse(fields)
        try demand(offered.count <= ChallengeParser.limit, "More challenges are read than is allowed.")
        for scheme in offered {
            try demand(scheme.parameters.count <= ChallengeParser.limit, "More parameters are read than is allowed.")
            try demand(scheme.name == scheme.name.lowercased(), "A scheme is not in lower case.")
        }
    }

    /// What a server says in a challenge, and then in `Authentication-Info`; a line break parts the two.
    private static let digest = FuzzTarget(
        "digest",
        text: [
            "Digest ", "realm=", "nonce=", "qop=", "auth-int", "algorithm=", "SHA-512-256-sess", "opaque=", "\"",
            "\\\"",
            "stale=true", "userhash=true", "charset=UTF-8", "domain=", "nextnonce=", ", ", "\r", "\n", "\0",
        ]
    ) { text throws(BrokenProperty) in
        let fields = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let offered = ChallengeParser.parse([fields[0]]).first, let challenge = DigestChallenge(offered) else {
            return
        }
        var conversation = DigestConversation(challenge)
        conversation.learn(from: fields.dropFirst().map { $0 })
        conversation.challenged(by: challenge)
        let message = DigestMessage(method: "GET", target: "/", bodyHash: [48])
        let credential = Credential(user: "Jä\"\\", password: Redacted("p"))
        guard let made = conversation.proof(of: message, for: credential, clientNonce: "c") else {
            throw BrokenProperty(description: "A challenge that was taken is not answered.")
        }
        try demand(!made.field.utf8.contains { $0 < 32 || $0 == 127 }, "A proof is more than one line.")
        let said = ChallengeParser.parse([made.field])
        try demand(said.count == 1 && said.first?.realm == challenge.realm, "A proof says another realm.")
        try demand(said.first?.parameters["nonce"] == challenge.nonce, "A proof says another nonce.")
        try demand(said.first?.parameters["opaque"] == challenge.opaque, "A proof says something else back.")
    }

    /// A server's challenge, without its base64.
    private static let ntlm = FuzzTarget(
        "ntlm",
        words: [
            "NTLMSSP\0", "\u{2}\0\0\0", "\u{5}", "\0\0\0\0", "\u{1}\0\u{2}\0A\0", "\u{7}\0\u{8}\0", "\u{6}\0\u{4}\0",
            "\u{a}\0\u{10}\0", "\u{30}\0\0\0", "\u{38}\0\0\0", "0000000000000000",
        ]
    ) { bytes throws(BrokenProperty) in
        let credential = Credential(user: "CORP\\jä", password: Redacted("p€"))
        let binding = ChannelBinding(certificateHash: [UInt8](repeating: 7, count: 32))
        let nonce = [UInt8](repeating: 1, count: 8)
        let isTaken = NTLMChallenge(bytes) != nil
        try demand(!isTaken || bytes.count <= NTLMChallenge.longest, "A challenge is longer than is allowed.")
        for versions in [NTLMExchange.Versions.v2, .all] {
            guard let exchange = try? NTLMExchange(credential, to: "a.example", versions) else {
                throw BrokenProperty(description: "A user that can be said is refused.")
            }
            let message = exchange.authenticate(answering: bytes, binding: binding, nonce: nonce, time: 1)
            try demand((message != nil) == isTaken, "A challenge that was taken is not answered, or another is.")
            guard let message else { continue }
            try demand(message.starts(with: Array("NTLMSSP\0\u{3}".utf8)), "An answer is no last message.")
            let length = Int(message[20]) | Int(message[21]) << 8
            try demand(versions == .all || length > 24, "NTLMv1 was said where only NTLMv2 may be.")
        }
        guard let pairs = TargetInfo(bytes) else { return }
        try demand(TargetInfo(pairs.bytes) == pairs, "Pairs are read as others from what they are printed as.")
    }

    /// Lines as libcurl hands them over, up to the blank one.
    private static let head = FuzzTarget(
        "head",
        words: [
            "HTTP/1.1 200 OK\r\n", "HTTP/2 100 \r\n", "Content-Length: ", "Transfer-Encoding: chunked", "\r\n", "\r\n ",
            ": ", "\n", "\t", "\0", "5, 5", "99999999999999999999",
        ]
    ) { bytes throws(BrokenProperty) in
        var download = Download(headerLimit: 256)
        for line in lines(of: bytes) where download.framing == nil {
            var position = 0
            let outcome = unsafe line.withUnsafeBytes { unsafe download.read($0, at: &position) }
            guard outcome == .more || outcome == .whole else { return }
        }
        guard download.framing != nil else { return }
        let response = download.head.response
        try demand(100...999 ~= response.status.code, "A status has not three digits.")
        for field in response.headerFields {
            let isLine = !field.value.utf8.contains { $0 == 0 || $0 == 10 || $0 == 13 }
            try demand(isLine, "A value of \(field.name) is more than one line.")
        }
        let lengths = response.headerFields[values: .contentLength].flatMap { $0.split(separator: ",") }
        let numbers = Set(lengths.map { Int64($0.filter { $0 != " " && $0 != "\t" }) })
        try demand(numbers.count <= 1 && !numbers.contains(nil), "An answer has several lengths, or one that is none.")
        _ = download.isDelimitedByClose
    }

    private static func lines(of bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        var rest = bytes[...]
        var lines: [ArraySlice<UInt8>] = []
        while let end = rest.firstIndex(of: 10) {
            lines.append(rest[...end])
            rest = rest[(end + 1)...]
        }
        return lines
    }

    private static let relayAnswer = FuzzTarget(
        "relay-answer", words: ["HTTP/1.1 403 ", "Proxy-Status: ", "gw; error=dns_error", "\r\n", ":", " "]
    ) { bytes throws(BrokenProperty) in
        var answer = RelayAnswer()
        for line in lines(of: bytes) {
            let isTaken = unsafe line.withUnsafeBytes { unsafe answer.received($0) }
            if !isTaken { break }
        }
        try demand(answer.proxyStatus?.count ?? 0 <= 512, "More of Proxy-Status is kept than is allowed.")
    }

    private static let redirect = FuzzTarget(
        "redirect", text: ["http://", "//", "file:", "..", "%2e", "\\", "@", "\t", "?", "#", "/"]
    ) { text throws(BrokenProperty) in
        guard let base = try? RequestURL("https://a.example:8443/b/c?d#e") else { return }
        var head = HTTPResponse(status: .found)
        head.headerFields[.location] = text
        guard let target = (try? RedirectRules.target(of: head, from: base)) ?? nil else { return }
        try demand(target.endpoint != nil, "A redirect leads to no host.")
        try demand(["http", "https"].contains(target.scheme), "A redirect leads to \(target.scheme).")
        try demandRoundTrip(target, \.description) { try RequestURL($0) }
    }

    /// The first byte chooses the codings, the second the length of the pieces.
    private static let content = FuzzTarget("content", words: ["\u{1f}\u{8b}", "\u{8}", "\0\0\0\0", "x"]) {
        bytes throws(BrokenProperty) in
        guard bytes.count > 2 else { return }
        let kinds: [[ContentCoding]] = [[.gzip], [.deflate], [.gzip, .deflate], [.deflate, .gzip, .deflate, .gzip]]
        let limit = InflationLimit(factor: 20, allowance: 100_000)
        var decoder = BodyDecoder(codings: kinds[Int(bytes[0]) % kinds.count], limit: limit)
        var (count, taken) = (0, 0)
        do {
            for start in stride(from: 2, to: bytes.count, by: Int(bytes[1]) + 1) {
                let piece = Array(bytes[start..<min(start + Int(bytes[1]) + 1, bytes.count)])
                taken += piece.count
                decoder.received(piece)
                while let decoded = try decoder.nextPiece() { count += decoded.count }
                try demand(count <= limit.longest(for: taken), "A body grew to \(count) bytes.")
            }
            try decoder.ended()
        } catch let broken as BrokenProperty { throw broken } catch {}
    }

    private static let resumption = FuzzTarget(
        "resumption",
        text: [
            "bytes ", "0-1/2", "*/5", "/*", "Sun, 06 Nov 1994 08:49:37 GMT", "{\"url\":", "\"total\":",
            "9223372036854775807",
        ]
    ) { text throws(BrokenProperty) in
        if let range = ContentRange(text) {
            try demand(range.first ?? 0 <= range.last ?? 0, "A range ends before it begins.")
            try demand(range.total.map { $0 > range.last ?? -1 } ?? true, "A range lies beyond the whole.")
        }
        if let seconds = FixedDate.seconds(text) { try demand(seconds >= 0, "A date lies before 1970.") }
        guard let record = try? JSONDecoder().decode(Resumption.self, from: Data(text.utf8)),
            let again = try? JSONEncoder().encode(record)
        else { return }
        let read = try? JSONDecoder().decode(Resumption.self, from: again)
        try demand(read == record, "A record is read as another.")
        guard let url = try? RequestURL("http://a.example/") else { return }
        var (asked, head) = (record, HTTPResponse(status: .partialContent))
        head.headerFields[.contentRange] = text
        _ = asked.ask(LoadRequest(.get, url))
        _ = asked.take(head)
    }

    private static let pem = FuzzTarget(
        "pem", text: ["-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----", "\n", "\r", "AAAA", "=", "=="]
    ) { text throws(BrokenProperty) in
        guard let certificates = try? PEMFile.blocks("CERTIFICATE", in: text) else { return }
        try demand(!certificates.contains { $0.isEmpty }, "A certificate is empty.")
        let printed = String(decoding: PEM.certificates(certificates), as: UTF8.self)
        let again = try? PEMFile.blocks("CERTIFICATE", in: printed)
        try demand(again == certificates, "Certificates are read as others.")
    }

    private static let versions = FuzzTarget(
        "tls-versions", text: ["TLS1.0", "TLS1.1", "TLS1.2", "GDEnable", "=", ",", " ", "a.example", "SSLv3"]
    ) { text throws(BrokenProperty) in
        let items = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard let setting = try? ControlTLSVersions(items), let host = try? Host("a.example") else { return }
        let added = setting.versions(for: host).allowed
        try demand(added.isSubset(of: [.tls10, .tls11]), "A setting adds what is there already.")
    }
}
