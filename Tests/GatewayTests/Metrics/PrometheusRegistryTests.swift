import Foundation
import Metrics
import TestSupport
import Testing

@testable import SallyportGateway

/// The text format, judged by `promtool` too.
@Suite(.timeLimit(.minutes(1))) struct PrometheusRegistryTests {
    private let registry = PrometheusRegistry()

    @Test func anEmptyRegistryHasNoText() { #expect(registry.text().isEmpty) }

    @Test func whatIsNotDescribedIsNotShownIfDescriptionsAreGiven() {
        let registry = PrometheusRegistry(metrics: [.connects])
        Counter(label: "other_total", factory: registry).increment()
        #expect(registry.text().isEmpty)
    }

    @Test func eachKindHasItsTypeAndItsFigures() async throws {
        Counter(label: "a_total", dimensions: [("x", "1")], factory: registry).increment(by: 3)
        FloatingPointCounter(label: "b_total", factory: registry).increment(by: 0.5)
        Meter(label: "c", factory: registry).set(-2)
        Recorder(label: "d", dimensions: [], aggregate: false, factory: registry).record(7)
        Timer(label: "e_seconds", factory: registry).record(duration: .milliseconds(20))
        let scrape = try Scrape(registry.text())
        #expect(scrape.values["a_total{x=\"1\"}"] == 3 && scrape.values["b_total"] == 0.5)
        #expect(scrape.values["c"] == -2 && scrape.values["d"] == 7)
        #expect(scrape.values["e_seconds_bucket{le=\"0.01\"}"] == 0)
        #expect(scrape.values["e_seconds_bucket{le=\"0.025\"}"] == 1)
        #expect(scrape.values["e_seconds_bucket{le=\"+Inf\"}"] == 1)
        #expect(scrape.values["e_seconds_sum"] == 0.02 && scrape.values["e_seconds_count"] == 1)
        for type in ["a_total counter", "b_total counter", "c gauge", "d gauge", "e_seconds histogram"] {
            #expect(scrape.text.contains("# TYPE \(type)\n"))
        }
    }

    /// A value may hold any text: no label ends early, and no line is made up.
    @Test(arguments: [
        #"a"b"#, #"a\b"#, #"\"#, "a\nfake_total 1", "\r\n", "a\\\n\"", "", "Grüße, 世界 🙂", "a}b{c=\"d\"}", "\u{0}\u{7f}",
    ])
    func anyValueOfALabelStaysOneValue(_ value: String) async throws {
        Counter(label: "odd_total", dimensions: [("text", value)], factory: registry).increment()
        let lines = registry.text().split(separator: "\n")
        #expect(lines.count == 2 && lines[1].hasPrefix("odd_total{text=\"") && lines[1].hasSuffix("\"} 1"))
        let inner = lines[1].dropFirst("odd_total{text=\"".count).dropLast("\"} 1".count)
        #expect(Self.unescaped(inner) == value)
    }

    private static func unescaped(_ text: Substring) -> String {
        var (read, isEscaped) = (String.UnicodeScalarView(), false)
        for scalar in text.unicodeScalars {
            if isEscaped {
                read.append(scalar == "n" ? "\n" : scalar)
                isEscaped = false
            } else if scalar == "\\" {
                isEscaped = true
            } else {
                read.append(scalar)
            }
        }
        return String(read)
    }

    @Test func promtoolReadsWhateverNamesAndValuesAre() async throws {
        Counter(label: "9 lives", dimensions: [("a-b", "x\n\"\\"), ("", "1"), ("1", "2")], factory: registry)
            .increment()
        Meter(label: "größe", dimensions: [("__name__", "x"), ("ü", "y")], factory: registry).set(Double.nan)
        Meter(label: "bound", dimensions: [("sign", "+")], factory: registry).set(Double.infinity)
        Meter(label: "bound", dimensions: [("sign", "-")], factory: registry).set(-Double.infinity)
        Timer(label: "t_seconds", dimensions: [("le", "1")], factory: registry).recordNanoseconds(1)
        let text = registry.text()
        for part in ["_9_lives_total{", "} NaN\n", "{sign=\"+\"} +Inf\n", "{sign=\"-\"} -Inf\n", "{label_le=\"1\",le="]
        {
            #expect(text.contains(part))
        }
        let checked = try await ChildProcess("/usr/bin/env", ["promtool", "check", "metrics"], input: text).outcome()
        // Metrics without help are remarked on with 3; 1 would mean that the text cannot be read.
        #expect(checked.status == 3 && !checked.error.contains("error while linting"), "\(checked)")
    }

    @Test func theSameLabelsInAnyOrderAreOneSeries() throws {
        Counter(label: "a_total", dimensions: [("x", "1"), ("y", "2")], factory: registry).increment()
        Counter(label: "a_total", dimensions: [("y", "2"), ("x", "1")], factory: registry).increment()
        #expect(try Scrape(registry.text()).values == ["a_total{x=\"1\",y=\"2\"}": 2])
    }

    @Test func aNameHasOneKind() throws {
        Meter(label: "a_total", factory: registry).set(5)
        Counter(label: "a_total", factory: registry).increment()
        Timer(label: "a_total", dimensions: [("x", "1")], factory: registry).recordNanoseconds(1)
        #expect(try Scrape(registry.text()).values == ["a_total": 5])
    }

    @Test func aLabelWithEverNewValuesTakesUpNoMoreThanItsLimit() throws {
        for number in 0..<PrometheusRegistry.seriesLimit + 100 {
            Counter(label: "a_total", dimensions: [("x", "\(number)")], factory: registry).increment()
        }
        #expect(try Scrape(registry.text()).values.count == PrometheusRegistry.seriesLimit)
    }

    @Test func aCounterNeverGoesDown() throws {
        let counter = Counter(label: "a_total", factory: registry)
        counter.increment(by: 2)
        counter.increment(by: -1)
        FloatingPointCounter(label: "b_total", factory: registry).increment(by: -1)
        #expect(try Scrape(registry.text()).values == ["a_total": 2, "b_total": 0])
    }

    @Test func nothingIsLostBetweenThreads() async throws {
        let (registry, rounds) = (registry, 2_000)
        await withDiscardingTaskGroup { group in
            for _ in 0..<4 {
                group.addTask { @concurrent in
                    let counter = Counter(label: "a_total", factory: registry)
                    let timer = Timer(label: "b_seconds", factory: registry)
                    for _ in 0..<rounds {
                        counter.increment()
                        timer.record(duration: .seconds(1))
                    }
                }
            }
        }
        let scrape = try Scrape(registry.text())
        #expect(scrape.values["a_total"] == Double(4 * rounds))
        #expect(scrape.values["b_seconds_sum"] == Double(4 * rounds))
        #expect(scrape.values["b_seconds_count"] == Double(4 * rounds))
    }

    /// A rate needs the zero before the first event, and the help is that of the description.
    @Test func theGatewaysMetricsExistFromTheStart() async throws {
        let registry = PrometheusRegistry(metrics: [.connects])
        _ = GatewayMetrics(registry)
        let scrape = try Scrape(registry.text())
        #expect(scrape["connects_total", "verdict=\"opened\""] == 0)
        #expect(scrape.text.contains("# HELP sallyport_gateway_connects_total CONNECT requests"))
    }
}
