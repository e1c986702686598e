import Foundation
import TestSupport
import Testing

/// The scripts that turn what callgrind counted into figures, without valgrind.
struct ProfileScriptTests {
    private static let folder = Programs.repository.appending(path: "Benchmarks/Profile")

    private func python(_ script: String, _ arguments: [String], input: String? = nil) async throws -> Outcome {
        // Leaves no compiled Python beside the scripts.
        try await ChildProcess(
            "/usr/bin/env", ["python3", "-B", Self.folder.appending(path: script).path] + arguments, input: input
        ).outcome()
    }

    // MARK: Flame graphs

    /// `main` calls `load()`, which makes two copies by `memcpy` and once calls itself; each with its callers, as callgrind
    /// writes them.
    private static let counted = """
        # callgrind format
        version: 1
        creator: callgrind-3.19.0
        events: Ir

        ob=(1) /opt/app/program
        fl=(1) ???
        fn=(1) main
        0 100
        cob=(2) /lib/libc.so.6
        cfi=(2) ???
        cfn=(2) memcpy@@GLIBC_2.14'$s12SallyportFoo4loadyyF'main
        calls=1 0
        0 600
        cfn=(3) $s12SallyportFoo4loadyyF'main
        calls=1 0
        0 900
        fn=(3)
        0 300
        cob=(2)
        cfn=(2)
        calls=2 0
        0 600
        ob=(2)
        fn=(2)
        0 600

        totals: 1000
        """

    @Test func aFlameGraphHasAFrameForEachFunctionOfAStack() async throws {
        let outcome = try await python("flamegraph.py", ["A & B"], input: Self.counted)
        #expect(outcome.status == 0, "\(outcome.error)")
        let svg = outcome.output
        #expect(svg.contains("A &amp; B"))
        #expect(svg.components(separatedBy: "<g class=\"f\"").count == 5)
        for (name, costs, width) in [
            ("all", "1,000 instructions, 100.0 %, 0 its own", "1.000000"),
            ("main", "1,000 instructions, 100.0 %, 100 its own", "1.000000"),
            ("load()", "900 instructions, 90.0 %, 300 its own", "0.900000"),
            ("memcpy", "600 instructions, 60.0 %, 600 its own", "0.600000"),
        ] {
            let frame = try #require(svg.components(separatedBy: "<g class=\"f\"").first { $0.contains(name + "\n") })
            #expect(frame.contains(costs), "\(name)")
            #expect(frame.contains("data-w=\"\(width)\""), "\(name)")
        }
    }

    @Test func aFlameGraphIsWellFormedAndNeedsNothingElse() async throws {
        let svg = try await python("flamegraph.py", ["a <title>"], input: Self.counted).output
        let check = "import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.stdin)"
        let outcome = try await ChildProcess("/usr/bin/env", ["python3", "-c", check], input: svg).outcome()
        #expect(outcome.status == 0, "\(outcome.error)")
        #expect(!svg.contains("href=") && !svg.contains("@import"))
    }

    // MARK: Ceilings

    private func compare(_ instructions: Double, with ceiling: Double) async throws -> Outcome {
        let folder = try TemporaryDirectory()
        try folder.write(#"{"get/loop": {"instructions": \#(instructions), "poll": 0}}"#, to: "figures")
        try folder.write(
            #"{"ceilings": {"get/loop": {"instructions": \#(ceiling), "poll": 0.02}}}"#, to: "ceilings")
        return try await python("counts.py", ["compare", folder.file("figures"), folder.file("ceilings")])
    }

    @Test func aCountAboveItsCeilingIsAFailureThatSaysByHowMuch() async throws {
        let outcome = try await compare(110_000, with: 100_000)
        #expect(outcome.status == 1)
        #expect(
            outcome.output.contains("get/loop: instructions 110,000.00, ceiling 100,000.00, 10.0 % more"),
            "\(outcome.output)")
    }

    @Test func aCountAtItsCeilingIsNone() async throws {
        let outcome = try await compare(100_000, with: 100_000)
        #expect(outcome.status == 0)
        #expect(outcome.output == "Every count is below its ceiling.\n")
    }

    @Test func aCeilingFarAboveItsCountCanBeLowered() async throws {
        let outcome = try await compare(80_000, with: 100_000)
        #expect(outcome.status == 0)
        #expect(outcome.output.contains("ceiling 100,000.00 can be 82,400.00"), "\(outcome.output)")
    }

    /// What holds on every machine: the number of retains depends on how threads take turns.
    @Test(arguments: [
        (#"{"instructions": 109, "retains": 300, "send": 1.4}"#, 0, "Every count is below its ceiling.\n"),
        (#"{"instructions": 111, "retains": 100, "send": 1}"#, 1, "instructions 111.00, ceiling 110.00, 0.9 % more"),
        (#"{"instructions": 100, "retains": 100, "send": 2}"#, 1, "send 2.00, ceiling 1.44"),
    ])
    func aSteadyComparisonAllowsMoreAndLeavesOutWhatThreadsDecide(
        figures: String, status: Int32, says: String
    ) async throws {
        let folder = try TemporaryDirectory()
        try folder.write(#"{"get/loop": \#(figures)}"#, to: "figures")
        let ceilings = #"{"instructions": 100, "retains": 200, "send": 1.03}"#
        try folder.write(#"{"ceilings": {"get/loop": \#(ceilings)}}"#, to: "ceilings")
        let arguments = ["compare", "--steady", folder.file("figures"), folder.file("ceilings")]
        let outcome = try await python("counts.py", arguments)
        #expect(outcome.status == status)
        #expect(outcome.output.contains(says), "\(outcome.output)")
    }

    /// What is compared with a peer's count has no bound of its own, and keeps its room.
    @Test func aSteadyComparisonAllowsNoMoreThanATargetThatIsANumber() async throws {
        let check = """
            import sys
            sys.path.insert(0, sys.argv[1])
            import counts
            def aim(quantity, bound, **peer):
                return {"rows": ["get"], "peer": "loop", "quantity": quantity, "bound": bound, **peer}
            counts.rows.read = lambda: {"targets": [
                aim("hops", 1.5), aim("poll", 0), aim("malloc", 14), aim("instructions", 0.8, of="curl")]}
            ceilings = {"hops": 2, "poll": 0.02, "malloc": 10, "instructions": 100}
            def passes(figure, quantity, row="get/loop"):
                limits = counts.steady({row: {quantity: ceilings[quantity]}})
                return not counts.compare({row: {quantity: figure}}, limits)[0]
            assert passes(1.5, "hops") and not passes(1.51, "hops")
            assert passes(0.1, "poll") and not passes(0.3, "poll"), "a busy machine adds some"
            assert passes(10.9, "malloc") and not passes(11.1, "malloc"), "the ceiling is below the target"
            assert passes(109, "instructions") and not passes(111, "instructions")
            assert passes(2.7, "hops", "get/sallyport") and passes(2.7, "hops", "other/loop"), "without a target"
            """
        let outcome = try await ChildProcess("/usr/bin/env", ["python3", "-B", "-c", check, Self.folder.path]).outcome()
        #expect(outcome.status == 0, "\(outcome.error)")
    }

    @Test func anUncountedValueIsNotBelowItsCeiling() async throws {
        let folder = try TemporaryDirectory()
        try folder.write("{}", to: "figures")
        try folder.write(#"{"ceilings": {"get/loop": {"instructions": 1}}}"#, to: "ceilings")
        let outcome = try await python("counts.py", ["compare", folder.file("figures"), folder.file("ceilings")])
        #expect(outcome.status == 1)
        #expect(outcome.output.contains("get/loop: instructions was not counted"))
    }

    // MARK: Rows

    @Test(arguments: ["", "nope", "get-32/asyncHTTPClient", "cache-hit/curl"])
    func anUnknownRowGetsTheListOfRows(target: String) async throws {
        let outcome = try await python("rows.py", ["check", target])
        #expect(outcome.status == 2)
        #expect(outcome.error.contains("get-32-tls-relay") && outcome.error.contains("cookie-field"))
    }

    @Test func aRowNamesTheServersThatItNeeds() async throws {
        #expect(try await python("rows.py", ["needs", "get-32/curl"]).output == "web\n")
        #expect(try await python("rows.py", ["needs", "1m-relay/loop"]).output == "web\n")
        #expect(try await python("rows.py", ["needs", "cache-hit"]).output == "web\n")
        #expect(try await python("rows.py", ["needs", "echo-1"]).output == "sockets\n")
        #expect(try await python("rows.py", ["needs", "cookie-field"]).output == "\n")
    }

    /// A target of a row or peer that is not there would be neither reached nor missed.
    @Test func everyTargetAndCeilingIsOfARow() async throws {
        let check = """
            import json, sys
            sys.path.insert(0, sys.argv[1])
            import counts, rows
            table = rows.read()
            for target in table["targets"]:
                for name in target["rows"]:
                    row, = (row for row in table["rows"] if row["name"] == name)
                    assert target["peer"] in row["peers"] and target.get("of", target["peer"]) in row["peers"], target
            committed = json.load(open(counts.CEILINGS))
            for name in list(committed["ceilings"]) + committed["peers"]:
                assert rows.find(name), name
            """
        let outcome = try await ChildProcess("/usr/bin/env", ["python3", "-B", "-c", check, Self.folder.path]).outcome()
        #expect(outcome.status == 0, "\(outcome.error)")
    }
}
