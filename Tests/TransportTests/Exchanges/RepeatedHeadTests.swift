import HTTPTypes
import Testing

@testable import SallyportTransport

/// Heads that follow another one on their connection are read as if they stood alone.
struct RepeatedHeadTests {
    private struct Reading: Equatable {
        var outcome = HeadReader.Outcome.more
        var status = 0
        var framing = AnswerFraming()
        var fields: [String] = []
        var hints: [[String]] = []
    }

    /// The fields that a connection keeps between its heads.
    private struct Connection {
        var fields = FieldList(remembers: true)

        mutating func read(_ text: String, limit: Int = 1 << 20) -> Reading {
            var reader = HeadReader(limit: limit)
            reader.follows(fields)
            var reading = Reading()
            var position = 0
            reading.outcome = unsafe Array(text.utf8).withUnsafeBytes { unsafe reader.read($0, at: &position) }
            reading.status = reader.response.status.code
            reading.framing = reader.framing
            reading.fields = Self.texts(reader.response.headerFields)
            reading.hints = reader.earlyHints.map(Self.texts)
            fields = reader.takeFields()
            return reading
        }

        /// Whether the idle connection holds nothing of the head.
        var keepsNothing: Bool {
            var (kept, empty) = ("", "")
            dump(fields, to: &kept)
            dump(FieldList(remembers: true), to: &empty)
            return kept == empty
        }

        /// How many fields, and how many of their lines, the idle connection holds.
        var kept: [Int?] {
            let parts = Mirror(reflecting: fields)
            return [(parts.descendant("list") as? HTTPFields)?.count, (parts.descendant("lines") as? [Any])?.count]
        }

        private static func texts(_ fields: HTTPFields) -> [String] {
            fields.map { "\($0.name.rawName)=\($0.value)" }
        }
    }

    private static func head(_ lines: [String], status: String = "200 OK") -> String {
        (["HTTP/1.1 \(status)"] + lines + ["", ""]).joined(separator: "\r\n")
    }

    @Test func aHeadThatIsRepeatedHasTheSameFields() {
        var connection = Connection()
        let text = Self.head(["Server: nginx", "Content-Length: 5", "ETag: \"a\"", "Connection: close"])
        let first = connection.read(text)
        #expect(first.outcome == .whole && first.fields.count == 4 && !connection.keepsNothing)
        for _ in 0..<3 { #expect(connection.read(text) == first) }
    }

    @Test(arguments: [
        ["Server: nginx", "Date: now", "Content-Length: 6"],
        ["Server: nginx", "Content-Length: 5"],
        ["Server: nginx", "Date: then", "Content-Length: 5", "More: than before"],
        ["server: nginx", "date: then", "content-length: 5"],
        ["Server: nginx ", "Date:then", "Content-Length: 5 "],
        ["Date: then", "Server: nginx", "Transfer-Encoding: chunked"],
        ["Server: nginx", "Date: then", " and later", "Content-Length: 5"],
        ["Server: nginx", "Date: then", "Content-Length: 5", "Content-Length: 5"],
        [],
    ]) func aHeadThatDiffersIsReadAsIfItStoodAlone(_ lines: [String]) {
        let before = Self.head(["Server: nginx", "Date: then", "Content-Length: 5"])
        var (alone, connection) = (Connection(), Connection())
        _ = connection.read(before)
        let expected = alone.read(Self.head(lines))
        #expect(expected.outcome == .whole)
        #expect(connection.read(Self.head(lines)) == expected)
        #expect(connection.read(Self.head(lines)) == expected)
        #expect(connection.read(before).fields == ["Server=nginx", "Date=then", "Content-Length=5"])
    }

    /// The line that was folded is remembered neither with its own value nor with that of all its lines.
    @Test func foldsAreReadAnew() {
        var connection = Connection()
        let folded = Self.head(["A: b", "\tc", "D: e"])
        for text in [folded, folded, Self.head(["A: b", "D: e"]), folded] {
            var alone = Connection()
            #expect(connection.read(text) == alone.read(text))
        }
        var last = Connection()
        for text in [Self.head(["A: b", " c"]), Self.head(["A: b"])] {
            var alone = Connection()
            #expect(last.read(text) == alone.read(text))
        }
    }

    @Test func aRepeatedLineCanMakeAHeadAmbiguous() {
        var connection = Connection()
        #expect(connection.read(Self.head(["Content-Length: 5", "A: b"])).outcome == .whole)
        let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        #expect(connection.read(text).outcome == .whole)
        #expect(connection.read(Self.head(["Transfer-Encoding: chunked", "Content-Length: 5"])).outcome == .malformed)
        var other = Connection()
        let both = ["Content-Length: 5", "Content-Length: 6"]
        #expect(other.read(Self.head([both[0]])).outcome == .whole)
        #expect(other.read(Self.head(both)).outcome == .malformed)
    }

    @Test func interimHeadsAndTheirFinalOneAreReadOneAfterTheOther() {
        var connection = Connection()
        let hint = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nServer: nginx\r\n\r\n"
        let text = hint + hint + Self.head(["Link: </a>", "Server: apache"])
        for _ in 0..<3 {
            let reading = connection.read(text)
            #expect(reading.fields == ["Link=</a>", "Server=apache"])
            #expect(reading.hints == Array(repeating: ["Link=</a>", "Server=nginx"], count: 2))
        }
    }

    /// The limit is of what the server sends, not of what is read anew.
    @Test func limitCountsRepeatedLines() {
        var connection = Connection()
        let text = Self.head(["A: b", "C: d"])
        #expect(connection.read(text, limit: text.utf8.count).outcome == .whole)
        #expect(connection.read(text, limit: text.utf8.count - 1).outcome == .tooLong)
    }

    @Test(arguments: ["Set-Cookie: a=secret", "set-cookie: a=secret", "WWW-Authenticate: Negotiate secret"])
    func secretsAreNotKeptBetweenExchanges(_ line: String) {
        var connection = Connection()
        #expect(connection.read(Self.head(["Server: nginx", line])).fields.count == 2)
        #expect(connection.keepsNothing)
    }

    @Test func longHeadsAreNotKeptBetweenExchanges() {
        var connection = Connection()
        let text = Self.head((0..<100).map { "A\($0): " + String(repeating: "b", count: 100) })
        #expect(connection.read(text).fields.count == 100)
        #expect(connection.keepsNothing)
        #expect(connection.read(text).fields.count == 100)
    }

    /// Each of them is short enough to be kept.
    @Test func shorterHeadsLeaveNothingOfLongerOnes() {
        var connection = Connection()
        for count in [40, 20, 10, 5, 1, 0] {
            let value = String(repeating: "b", count: 7000 / max(count, 1))
            let text = Self.head((0..<count).map { "A\($0): \(value)" })
            #expect(connection.read(text).fields.count == count)
            #expect(connection.kept == [count, count])
        }
    }

    /// Heads of few lines in any order, of which some are refused: 2,000 one after the other.
    @Test func anyHeadAfterAnyOtherIsReadAsIfItStoodAlone() {
        let lines = [
            "Server: nginx", "Server: a", "Content-Length: 5", "Content-Length: 5, 5", "Transfer-Encoding: chunked",
            "Connection: close", "Set-Cookie: a=b", " folded", "\t", "A: \u{e9}", "A:", "Keep-Alive: timeout=5",
        ]
        var numbers = SystemRandomNumberGenerator()
        var connection = Connection()
        var history: [String] = []
        for _ in 0..<2000 {
            let text = Self.head((0..<Int.random(in: 0...5, using: &numbers)).map { _ in lines.randomElement()! })
            history = history.suffix(3) + [text]
            var alone = Connection()
            let expected = alone.read(text)
            #expect(connection.read(text) == expected, "\(history)")
            if expected.outcome != .whole { connection = Connection() }
        }
    }
}
