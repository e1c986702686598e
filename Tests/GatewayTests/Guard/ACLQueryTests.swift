import Foundation
import SallyportCore
import SallyportSocketDiagnosis
import Testing

@testable import SallyportGateway

/// Squid's lines, as Squid 5.7 writes them, and what is no line of its.
struct ACLQueryTests {
    private static let der = [UInt8](repeating: 0xab, count: 100)
    private static let pem =
        "-----BEGIN CERTIFICATE-----\\n"
        + Data(der).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        .replacing("\n", with: "\\n") + "\\n-----END CERTIFICATE-----\\n"

    private func query(_ text: String) -> ACLQuery { ACLQuery(line: Array(text.utf8)) }

    private func mistake(_ text: String) -> String? {
        guard case .mistake(let message, channel: 3) = query(text) else { return nil }
        return message
    }

    @Test(arguments: [
        ("a.example", "a.example:443"), ("xn--bcher-kva.example", "xn--bcher-kva.example:443"),
        ("%5B::1%5D", "[::1]:443"), ("10.0.0.1", "10.0.0.1:443"),
    ])
    func aLineIsAQuestion(host: String, target: String) throws {
        let line = "3 10.0.0.2 40000 10.0.0.1 3129 \(host) 443 \(Self.pem) -"
        let ends = SocketEnds(
            local: SocketEnd(.v4(0x0a00_0001), port: 3129), remote: SocketEnd(.v4(0x0a00_0002), port: 40_000))
        let expected = GuardQuestion(ends: ends, target: try Endpoint(target), certificate: Self.der)
        #expect(query(line) == .question(expected, channel: 3))
        #expect(query(String(line.dropLast(2))) == .question(expected, channel: 3))
    }

    @Test func addressesOfBothFamilies() {
        let line = "3 2001:db8::2 40000 2001:db8::1 3129 a.example 443 \(Self.pem) -"
        guard case .question(let question, _) = query(line) else { return #expect(Bool(false)) }
        #expect(question.ends.remote.description == "[2001:db8::2]:40000")
        guard case .question(let mapped, _) = query(line.replacing("2001:db8::2", with: "::ffff:10.0.0.2")) else {
            return #expect(Bool(false))
        }
        #expect(mapped.ends.remote.description == "10.0.0.2:40000")
    }

    @Test(arguments: [
        ("3", "another format"), ("3 10.0.0.2 40000 10.0.0.1 3129 a.example 443", "another format"),
        ("3 - - - - - - -", "addresses and ports"),
        ("3 10.0.0.2 40000 10.0.0.1 3129 a.example 443 -", "no certificate"),
        ("3 10.0.0.2 40000 10.0.0.1 3129 a.example 443 - -", "no certificate"),
        ("3 10.0.0.2 0 10.0.0.1 3129 a.example 443 -", "addresses and ports"),
        ("3 10.0.0.2 +1 10.0.0.1 3129 a.example 443 -", "addresses and ports"),
        ("3 host 1 10.0.0.1 3129 a.example 443 -", "addresses and ports"),
        ("3 10.0.0.2 1 10.0.0.1 3129 a.example 65536 -", "not a host and a port"),
        ("3 10.0.0.2 1 10.0.0.1 3129 a%20b 443 -", "not a host and a port"),
        ("3 10.0.0.2 1 10.0.0.1 3129 a% 443 -", "percent-encoded"),
        ("3 10.0.0.2 1 10.0.0.1 3129 a%ff 443 -", "percent-encoded"),
        ("3  10.0.0.2 1 10.0.0.1 3129 a.example 443 -", "addresses and ports"),
        ("3 10.0.0.2 1 10.0.0.1 3129 a.example 443 x", "not one certificate"),
        ("3 10.0.0.2 1 10.0.0.1 3129 a.example 443 %2D%2D", "not one certificate"),
        ("3 10.0.0.2 1 10.0.0.1 3129 a.example 443 \\x -", "quote modifier"),
        (
            "3 10.0.0.2 1 10.0.0.1 3129 a.example 443 -----BEGIN CERTIFICATE-----\\n-----END CERTIFICATE-----\\n -",
            "not one"
        ),
        ("3 10.0.0.2 1 10.0.0.1 3129 a.example 443 \(ACLQueryTests.pem)\(ACLQueryTests.pem) -", "not one certificate"),
        ("3 10.0.0.2 1 10.0.0.1 3129 a.example 443 \(ACLQueryTests.pem) extra", "not one certificate"),
    ])
    func whatCannotBeJudgedIsAMistakeOnItsChannel(line: String, message: String) throws {
        let told = try #require(mistake(line), "\(query(line))")
        #expect(told.contains(message), "\(told)")
    }

    @Test(arguments: ["", " ", "x", "-1 a", "GET / HTTP/1.1", "1.2.3.4 1", "12345678901234567890 x", "３ x"])
    func withoutAChannelThereIsNoAnswer(line: String) { #expect(query(line) == .unreadable) }

    @Test func theLimitsOfLinesAndCertificates() throws {
        let head = "3 10.0.0.2 40000 10.0.0.1 3129 a.example 443 "
        func line(_ count: Int) -> String {
            let text = Data([UInt8](repeating: 1, count: count)).base64EncodedString()
            return head + "-----BEGIN CERTIFICATE-----\\n\(text)\\n-----END CERTIFICATE-----\\n -"
        }
        guard case .question = query(line(8192)) else { return #expect(Bool(false), "8192 bytes are refused") }
        #expect(try #require(mistake(line(8193))).contains("8192 bytes"))
        let long = head + String(repeating: "a", count: ACLQuery.maximumLine + 1 - head.utf8.count)
        #expect(try #require(mistake(long)).contains("16384 bytes"))
        #expect(try #require(mistake(String(long.dropLast()))).contains("not one certificate"))
    }

    @Test func answersAreLinesOfSquids() {
        #expect(GuardAnswer.allowed(instance: "1-a").squidLine(channel: 5) == "5 OK user=1-a")
        #expect(GuardAnswer.refused("No \"a\\b\"\n").squidLine(channel: 5) == #"5 ERR message="No \"a\\b\"?""#)
        #expect(
            GuardAnswer.unavailable("No guard.").squidLine(channel: 5)
                == #"5 ERR sallyport=unavailable message="No guard.""#)
        #expect(GuardAnswer.failed("Ä").squidLine(channel: 5) == #"5 BH message="?""#)
    }
}
