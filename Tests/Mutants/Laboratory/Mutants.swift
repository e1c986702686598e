import Foundation
import MutantWeaving

/// Switches the tables' mutants on, one by one, and requires that a test fails for each.
struct Mutants {
    private let repository: URL
    private let all: [Mutant]
    private let chosen: [Mutant]
    /// The number of test runs at a time: no more than the tests' own time limits allow.
    private let lanes = min(2, ProcessInfo.processInfo.activeProcessorCount)

    init(in repository: URL, named names: Set<String>) throws {
        self.repository = repository
        all = try Mutant.tables(in: repository)
        chosen = names.isEmpty ? all : all.filter { names.contains($0.name) }
        if let unknown = names.subtracting(all.map(\.name)).min() { throw Failure("There is no mutant \"\(unknown)\"") }
    }

    /// Checks that every mutant can be compiled in at the place that its table names; lists all that cannot.
    func check() throws {
        let problems = all.compactMap { mutant in
            do {
                _ = try WovenSources([mutant], in: repository)
                return nil as String?
            } catch {
                return "\(error)"
            }
        }
        guard problems.isEmpty else { throw Failure(problems.joined(separator: "\n")) }
    }

    func run() async throws {
        try check()
        let start = ContinuousClock.now
        let folder = ProcessInfo.processInfo.environment["MUTANTS_BUILD"] ?? ".build-mutants"
        let laboratory = try Laboratory(
            of: repository, in: URL(filePath: folder, relativeTo: repository).absoluteURL)
        say("Building \(all.count) mutants")
        let refused = try await laboratory.build(all).filter { mutant in chosen.contains { $0.name == mutant.name } }
        for mutant in refused { say("NOTBUILT \(mutant.name): it does not compile; mend Tests/Mutants") }
        let built = chosen.filter { mutant in !refused.contains { $0.name == mutant.name } }
        say("Built in \(seconds(since: start)) s; running the tests with nothing switched off")
        let tests = try await laboratory.tests()
        let times = try await green(tests, Set(built.map(\.choice)))
        let judged = built.filter { times[$0.choice] != nil }
        say("Green after \(seconds(since: start)) s; switching off \(judged.count) checks")
        let survivors = try await survivors(of: judged, tests, times)
        say("\(judged.count - survivors.count) of \(chosen.count) mutants were noticed, in \(seconds(since: start)) s")
        let left = chosen.map(\.name).filter { name in
            !judged.contains { $0.name == name } || survivors.contains { $0.name == name }
        }
        guard left.isEmpty else { throw Failure("not noticed: \(left.joined(separator: ", "))") }
    }

    /// The seconds that the tests of each filter take without a mutant; none for filters whose tests fail then, or that
    /// match no tests.
    private func green(_ tests: TestBinary, _ choices: Set<TestChoice>) async throws -> [TestChoice: Double] {
        var times: [TestChoice: Double] = [:]
        try await Lanes.run(choices.sorted { $0.filter < $1.filter }, count: lanes) { choice, lane in
            let first = try await tests.run(choice, lane: lane, limit: 600)
            // A test that failed because another one disturbed it passes when it runs again.
            return (choice, first.status == 0 ? first : try await tests.run(choice, lane: lane, limit: 600))
        } each: { choice, run in
            let isGreen = run.status == 0 && run.count > 0
            if isGreen { times[choice] = run.time }
            if !isGreen {
                say("RED      \(choice.filter) with nothing switched off: \(run.count == 0 ? "no test" : run.cause)")
            }
        }
        return times
    }

    private func survivors(
        of mutants: [Mutant], _ tests: TestBinary, _ times: [TestChoice: Double]
    ) async throws -> [Mutant] {
        var survivors: [Mutant] = []
        // The longest runs come first, so that no lane waits for the other at the end.
        let order = mutants.sorted { (times[$0.choice] ?? 0, $0.filter) > (times[$1.choice] ?? 0, $1.filter) }
        try await Lanes.run(order, count: lanes) { mutant, lane in
            let limit = 20 + Int(3 * (times[mutant.choice] ?? 0))
            let run = try await tests.run(mutant.choice, mutant: mutant.number, lane: lane, limit: limit)
            return (mutant, run)
        } each: { mutant, run in
            let isNoticed = run.status != 0
            say(
                "\(isNoticed ? "noticed " : "SURVIVED") \(mutant.name): \(isNoticed ? run.cause : "all tests stay green")"
            )
            if !isNoticed { survivors.append(mutant) }
        }
        return survivors
    }

    private func seconds(since start: ContinuousClock.Instant) -> Int {
        Int((ContinuousClock.now - start) / .seconds(1))
    }

    private func say(_ line: String) {
        print(line)
        // Flushed, so that a printed line can be read at once if the output is a file.
        fflush(nil)
    }
}
