import Foundation
import TestSupport

/// Metrics as a scrape gives them, read by the rules of the text format.
struct Scrape {
    let text: String
    /// By name and labels, as they stand in the text.
    let values: [String: Double]

    init(_ text: String) throws {
        self.text = text
        var values: [String: Double] = [:]
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            guard let space = line.lastIndex(of: " "), let value = Double(line[line.index(after: space)...]) else {
                throw TestFailure("no sample: \(line)")
            }
            guard values.updateValue(value, forKey: String(line[..<space])) == nil else {
                throw TestFailure("twice: \(line)")
            }
        }
        self.values = values
    }

    /// Of the gateway's metric of this name with these labels.
    subscript(_ name: String, _ labels: String = "") -> Double? {
        values["sallyport_gateway_\(name)" + (labels.isEmpty ? "" : "{\(labels)}")]
    }

    /// What `promtool` says of it: nothing, if it is as it should be.
    func complaints() async throws -> String {
        let outcome = try await ChildProcess("/usr/bin/env", ["promtool", "check", "metrics"], input: text).outcome()
        return outcome.status == 0 ? outcome.output + outcome.error : "\(outcome.status): \(outcome.error)"
    }
}

extension ControlFixture {
    func scrape() async throws -> Scrape {
        let answer = try await observe("/metrics")
        guard answer.status == 200 else { throw TestFailure("metrics: \(answer.status)") }
        return try Scrape(String(decoding: answer.body, as: UTF8.self))
    }
}
