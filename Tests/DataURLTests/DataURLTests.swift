import SallyportCore
import SallyportDataURL
import Testing

@Suite struct DataURLTests {
    @Test(arguments: [
        ("data:,", "text/plain;charset=US-ASCII", ""),
        ("data:,A%20brief%20note", "text/plain;charset=US-ASCII", "A brief note"),
        ("DATA:text/html,<p>", "text/html", "<p>"),
        ("data:;charset=utf-8,x", "text/plain;charset=utf-8", "x"),
        ("data:TEXT/Plain;CharSet=UTF-8,x", "text/plain;charset=UTF-8", "x"),
        ("data:text/plain;charset=iso-8859-7,%be%fg", "text/plain;charset=iso-8859-7", "\u{fffd}%fg"),
        ("data:text/plain;a=1;b=2,x", "text/plain;a=1;b=2", "x"),
        ("data:text/plain;a=%22b;c%2C%20d%22,x", "text/plain;a=\"b;c, d\"", "x"),
        ("data:text/plain;a=%22token%22,x", "text/plain;a=token", "x"),
        ("data:text/plain;a=%22%22,x", "text/plain;a=\"\"", "x"),
        ("data:text/plain;a=%22\\%22\\\\%22,x", "text/plain;a=\"\\\"\\\\\"", "x"),
        ("data:text/plain;a=%22%09%22,x", "text/plain;a=\"\t\"", "x"),
        ("data:image/svg+xml,a,b;base64,c", "image/svg+xml", "a,b;base64,c"),
        ("data:,a?b=c&d", "text/plain;charset=US-ASCII", "a?b=c&d"),
        ("data:,a#b", "text/plain;charset=US-ASCII", "a"),
        ("data:,100%", "text/plain;charset=US-ASCII", "100%"),
        ("data:,//x/../y", "text/plain;charset=US-ASCII", "//x/../y"),
        ("data:base64/x,y", "base64/x", "y"),
        ("data:text/plain;base64=1,aGk=", "text/plain;base64=1", "aGk="),
    ])
    func wellFormedURLsAreRead(_ text: String, _ mediaType: String, _ body: String) throws {
        let url = try DataURL(text)
        #expect(url.mediaType == mediaType)
        #expect(String(decoding: url.bytes, as: UTF8.self) == body)
    }

    @Test(arguments: [
        ("data:;base64,", ""), ("data:;base64,aGk=", "hi"), ("data:;BASE64,aGk=", "hi"), ("data:;base64,aGk", "hi"),
        ("data:;base64,aGk%3D", "hi"), ("data:;base64,aA==", "h"), ("data:;base64,aA", "h"),
        ("data:;base64,aGV5", "hey"), ("data:;base64,a%0AG%20V%0D%09%0C5", "hey"),
        ("data:text/x;a=1;base64,aGk=", "hi"),
        ("data:;base64,Pz8/Pj4+", "???>>>"), ("data:;base64,%50z8%2FPj4%2B", "???>>>"), ("data:;base64,aGk=#x", "hi"),
        ("data:;base64,%20%20", ""),
    ])
    func base64IsDecodedAfterItsEscapes(_ text: String, _ body: String) throws {
        #expect(try DataURL(text).bytes == Array(body.utf8))
    }

    @Test(arguments: [
        "data:", "data:text/plain", "data:text,x", "data:text/,x", "data:/plain,x", "data:text/plain/x,y",
        "data:text/plain;,x", "data:;,x", "data:text/plain;a,x", "data:text/plain;a=,x", "data:text/plain;=a,x",
        "data:text/plain;base64;a=1,aGk=", "data:text/plain;base64;base64,aGk=", "data:base64,aGk=",
        "data:text/plain;a=%22b,c%22,x", "data:text/plain;a=%22b,x", "data:text/plain;a=%22b\\,x",
        "data:text/plain;a=%22b%22c,x", "data:text/plain;a=b%0D%0AX-Y:1,x", "data:text/plain;a=%22%0D%0AX-Y:1%22,x",
        "data:text/plain;a=%22%00%22,x", "data:text/plain;a=%22%C3%BC%22,x", "data:t%C3%BC/plain,x",
        "data:text/plain%20,x", "data:text/plain;%20a=b,x", "data://host/text/plain,x", "data:///,x",
        "http://a.example/", "no URL", "",
    ])
    func malformedURLsAreRefused(_ text: String) {
        #expect(throws: LoadError(.invalidRequest, "")) { try DataURL(text) }
    }

    @Test(arguments: [
        "a", "aGk==", "aGk===", "=", "==", "====", "aA=", "aG=k", "aGk=aGk=", "aGl", "aB==", "Pz8_", "Pz8-", "a*k=",
    ])
    func brokenBase64IsRefused(_ data: String) {
        #expect(throws: LoadError(.invalidRequest, "")) { try DataURL("data:;base64,\(data)") }
    }

    @Test func theLongestURLIsReadAndALongerOneIsNot() throws {
        let longest = "data:," + String(repeating: "a", count: DataURL.maximumLength - 6)
        #expect(try DataURL(longest).bytes.count == DataURL.maximumLength - 6)
        #expect(throws: LoadError(.invalidRequest, "")) { try DataURL(longest + "a") }
    }

    @Test func theMostParametersAreReadAndOneMoreIsNot() throws {
        let most = "data:" + String(repeating: ";a=b", count: DataURL.maximumParameters)
        #expect(try DataURL(most + ",x").bytes == [120])
        #expect(throws: LoadError(.invalidRequest, "")) { try DataURL(most + ";a=b,x") }
    }

    @Test func errorsHoldNothingOfTheURL() {
        let error = #expect(throws: LoadError.self) { try DataURL("data:secret;secret,secret") }
        #expect(error.map { "\($0) \(String(reflecting: $0))".contains("secret") } == false)
    }

    /// Half of them random bytes, half well-formed parts in a random order.
    @Test func noInputTraps() throws {
        var random = SeededGenerator(seed: 2397)
        var read = 0
        for _ in 0..<10_000 {
            let text = "data:" + (Bool.random(using: &random) ? random.bytes() : random.parts())
            do throws(LoadError) {
                let url = try DataURL(text)
                read += 1
                #expect(url.mediaType.utf8.allSatisfy { $0 == 9 || (32..<127).contains($0) }, "\(text)")
                #expect(url.bytes.count <= text.utf8.count)
                // What was read of a media type is read the same again.
                let escaped = url.mediaType.utf8.map { ($0 < 16 ? "%0" : "%") + String($0, radix: 16) }
                #expect(try DataURL("data:\(escaped.joined()),").mediaType == url.mediaType, "\(text)")
            } catch {
                #expect(error.code == .invalidRequest)
            }
        }
        // Both ways are walked.
        #expect((500..<9_500).contains(read), "\(read) were read")
    }
}

/// SplitMix64: random inputs that are the same in each run.
private struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    mutating func bytes() -> String {
        let count = Int.random(in: 0...64, using: &self)
        return String(decoding: (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }, as: UTF8.self)
    }

    mutating func parts() -> String {
        let parts = [
            "text/plain", "a/b", ";", ";a=b", ";c=%22d;e%22", ";base64", ",", ",", ",x", ",aGk=", "%", "%2C", "%22",
            "=",
            "\\", "?", "#", "/", "%00", "%ff", "%0D%0A", "ü", "%3B",
        ]
        let count = Int.random(in: 0...6, using: &self)
        return (0..<count).map { _ in parts[Int.random(in: 0..<parts.count, using: &self)] }.joined()
    }
}
