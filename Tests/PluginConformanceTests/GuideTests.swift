import Foundation
import HTTPTypes
public import SallyportCore
import SallyportPluginConformance
public import SallyportURLLoading
import TestSupport
import Testing

// The plugin that Docs/Plugins.md writes. What stands there is what stands here: a test compares them.

/// Loads `count:N`: the numbers from 1 to N, one a line.
public struct CountHandler: ProtocolHandler {
    public init() {}

    public static func canHandle(_ request: LoadRequest) -> Bool { request.url.scheme == "count" }

    public func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        guard request.method == .get else { throw LoadError(.invalidRequest, "A count is read with GET.") }
        guard let last = Int(request.url.path), (0...1_000_000).contains(last) else {
            throw LoadError(.invalidRequest, "A count goes up to a million.")
        }
        try response.begin(HTTPResponse(status: .ok, headerFields: [.contentType: "text/plain"]))
        var chunk: [UInt8] = []
        for number in 0..<last {
            chunk += "\(number + 1)\n".utf8
            guard chunk.count >= 16_384 else { continue }
            try await response.write(chunk)  // returns when there is room for more
            chunk = []
        }
        try await response.write(chunk)
    }
}

extension CountHandler {
    public static func canonicalForm(of request: LoadRequest) -> LoadRequest {
        guard let last = Int(request.url.path), let url = try? RequestURL("count:\(last)") else { return request }
        var request = request
        request.url = url
        return request
    }
}

@Test func countURLsConform() async throws {
    let report = await PluginConformance(
        CountHandler.self,
        samples: [
            .answers("three", try .get("count:3"), body: Array("1\n2\n3\n".utf8)),
            .answers("several chunks", try .get("count:+00020000")),
            .answers("nothing", try .get("count:0"), body: []),
            .fails("too many", try .get("count:1000001"), with: .invalidRequest),
            .fails("no number", try .get("count:x"), with: .invalidRequest),
        ]
    ).run()
    #expect(report.violations.isEmpty, "\(report)")
}

@Suite struct GuideTests {
    @Test func theGuideShowsThisCode() throws {
        let guide = try String(
            contentsOf: Programs.repository.appending(path: "Docs/Plugins.md"), encoding: .utf8)
        let tests = try String(contentsOfFile: #filePath, encoding: .utf8)
        let example = try String(
            contentsOf: Programs.repository.appending(path: "Examples/Plugins/main.swift"), encoding: .utf8)
        let blocks = guide.components(separatedBy: "```swift\n").dropFirst()
            .map { $0.components(separatedBy: "```")[0] }
        #expect(blocks.count >= 4)
        for block in blocks where !block.contains(".package(") {
            #expect(tests.contains(block) || example.contains(block), "\(block)")
        }
    }
}
