import Foundation
import Logging
import SallyportBase
import Testing

@testable import SallyportCommandLine

/// Lines of the log as JSON, read by a parser.
@Suite struct JSONLogHandlerTests {
    private let written = Lock<[UInt8]>([])

    private func logger(_ metadata: Logger.Metadata = [:]) -> Logger {
        let written = written
        return Logger(label: "a.label") { label in
            var handler = JSONLogHandler(label: label, clock: { Date(timeIntervalSince1970: 1.5) }) { line in
                written.withLock { $0 += line }
            }
            handler.metadata = metadata
            handler.logLevel = .trace
            return handler
        }
    }

    /// One for each line; the text ends with a line's end.
    private func entries() throws -> [[String: Any]] {
        let text = String(decoding: written.withLock { $0 }, as: UTF8.self)
        #expect(text.hasSuffix("\n"))
        return try text.dropLast().split(separator: "\n", omittingEmptySubsequences: false).map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
    }

    @Test func anEntryIsOneObject() throws {
        logger(["kept": "1", "both": "logger"]).warning("What happened.", metadata: ["both": "entry"])
        let entry = try #require(try entries().first)
        #expect(entry["time"] as? String == "1970-01-01T00:00:01.500Z")
        #expect(entry["level"] as? String == "warning" && entry["label"] as? String == "a.label")
        #expect(entry["message"] as? String == "What happened.")
        #expect(entry["metadata"] as? [String: String] == ["kept": "1", "both": "entry"])
        #expect(Set(entry.keys) == ["time", "level", "label", "message", "metadata"])
    }

    @Test func withoutMetadataThereIsNone() throws {
        logger().info("x")
        #expect(try entries().first?["metadata"] == nil)
    }

    @Test func metadataKeepsItsStructure() throws {
        logger().info(
            "x", metadata: ["list": ["a", "b"], "object": ["inner": ["c"]], "number": .stringConvertible(3)])
        let metadata = try #require(try entries().first?["metadata"] as? [String: Any])
        #expect(metadata["list"] as? [String] == ["a", "b"] && metadata["number"] as? String == "3")
        #expect((metadata["object"] as? [String: Any])?["inner"] as? [String] == ["c"])
    }

    /// Whatever a peer sends, it makes no line of its own, and ends none.
    @Test(arguments: [
        "a\nb", "a\r\n{\"level\":\"error\"}", "\"}", "\\", "\u{0}\u{1b}[31m", "Grüße, 世界 🙂", "\u{2028}", "",
    ])
    func anyTextStaysInItsLine(_ text: String) throws {
        logger().info("\(text)", metadata: ["\(text)": "\(text)"])
        logger().info("after")
        let entries = try entries()
        #expect(entries.count == 2 && entries.last?["message"] as? String == "after")
        #expect(entries.first?["message"] as? String == text)
        #expect(entries.first?["metadata"] as? [String: String] == [text: text])
    }

    @Test(arguments: Logger.Level.allCases) func everyLevelHasItsName(_ level: Logger.Level) throws {
        logger().log(level: level, "x")
        #expect(try entries().first?["level"] as? String == level.rawValue)
    }
}
