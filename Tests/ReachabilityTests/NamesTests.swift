import SallyportAuthorization
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportWire
import TestSupport
import Testing

@testable import SallyportReachability

/// What a look-up asks, and what becomes of each answer.
@Suite(.timeLimit(.minutes(1))) struct NamesTests {
    /// Answers what a test says.
    private final class Source: NameSource {
        let asked = Lock<[DNSMessage]>([])
        let body: @Sendable (DNSMessage) async throws(LoadError) -> NameOutcome

        init(_ body: @escaping @Sendable (DNSMessage) async throws(LoadError) -> NameOutcome) { self.body = body }

        func outcome(of query: DNSMessage, within limit: Duration) async throws(LoadError) -> NameOutcome {
            asked.withLock { $0.append(query) }
            return try await body(query)
        }
    }

    private static func name(_ text: String) -> DNSName {
        guard let name = DNSName(text) else { preconditionFailure("\(text) is a name.") }
        return name
    }

    private func lookUp(
        _ name: String, _ type: NameAnswer.RecordType = .a, within limit: Duration = .seconds(30),
        _ body: @escaping @Sendable (DNSMessage) async throws(LoadError) -> NameOutcome
    ) async -> Result<NameAnswer, NameError> {
        do throws(NameError) {
            return .success(try await Names(source: Source(body)).lookUp(name, type, within: limit))
        } catch {
            return .failure(error)
        }
    }

    private func code(_ result: Result<NameAnswer, NameError>) -> NameError.Code? {
        if case .failure(let error) = result { error.code } else { nil }
    }

    private static func answer(
        _ query: DNSMessage, _ records: [(String, DNSMessage.Data)], _ code: DNSMessage.ResponseCode = .noError
    ) -> NameOutcome {
        let records = records.map { DNSMessage.Record(name($0), timeToLive: 30, $1) }
        return .answered(DNSMessage(answering: query, code: code, answers: records))
    }

    @Test func addressesBelongToTheNameAtTheEndOfTheChain() async throws {
        let answer = try await lookUp("WWW.Corp.Example.") { query throws(LoadError) in
            #expect("\(query.question.name)" == "www.corp.example" && query.question.type == .a)
            return Self.answer(
                query,
                [
                    ("other.example", .address(.v4(9))),
                    ("www.corp.example", .canonicalName(Self.name("a.corp.example"))),
                    ("a.corp.example", .canonicalName(Self.name("b.corp.example"))),
                    ("b.corp.example", .address(.v4(1))), ("b.corp.example", .address(.v6(high: 0, low: 1))),
                ])
        }.get()
        #expect(answer.addresses == [.v4(1)] && answer.canonicalName == "b.corp.example" && answer.exists)
        #expect(answer.name == "www.corp.example" && answer.records.first?.timeToLive == .seconds(30))
    }

    @Test func eachTypeGivesItsOwnRecords() async throws {
        let records: [(String, DNSMessage.Data)] = [
            ("h.corp.example", .address(.v6(high: 1, low: 2))), ("h.corp.example", .address(.v4(7))),
        ]
        let six = await lookUp("h.corp.example", .aaaa) { query throws(LoadError) in Self.answer(query, records) }
        #expect(try six.get().addresses == [.v6(high: 1, low: 2)])
        let alias = try await lookUp("h.corp.example", .cname) { query throws(LoadError) in
            Self.answer(query, [("h.corp.example", .canonicalName(Self.name("x.corp.example")))])
        }.get()
        #expect(alias.records.map(\.value) == [.canonicalName("x.corp.example")])
        let service = try await lookUp("_ldap._tcp.corp.example", .srv) { query throws(LoadError) in
            let target = Self.name("dc.corp.example")
            return Self.answer(
                query, [("_ldap._tcp.corp.example", .service(priority: 1, weight: 2, port: 389, target: target))])
        }.get()
        #expect(
            service.records.map(\.value) == [
                .service(target: "dc.corp.example", port: 389, priority: 1, weight: 2)
            ])
    }

    @Test func aNameThatDoesNotExistIsAnAnswer() async throws {
        let missing = try await lookUp("no.corp.example") { query throws(LoadError) in
            Self.answer(query, [], .nameError)
        }.get()
        #expect(!missing.exists && missing.records.isEmpty)
        let bare = try await lookUp("h.corp.example") { query throws(LoadError) in Self.answer(query, []) }.get()
        #expect(bare.exists && bare.records.isEmpty)
    }

    @Test func namesThatStandForOneAnotherWithoutEndAreRefused() async {
        let circle = await lookUp("a.example") { query throws(LoadError) in
            Self.answer(
                query,
                [
                    ("a.example", .canonicalName(Self.name("b.example"))),
                    ("b.example", .canonicalName(Self.name("a.example"))),
                ])
        }
        #expect(code(circle) == .parsingResponseError)
    }

    @Test(arguments: [
        (NameAnswer.maximumChain, true), (NameAnswer.maximumChain + 1, false),
    ]) func aChainHasAtMostItsLength(_ length: Int, _ isTaken: Bool) async {
        let result = await lookUp("n0.example") { query throws(LoadError) in
            Self.answer(
                query, (0..<length).map { ("n\($0).example", .canonicalName(Self.name("n\($0 + 1).example"))) })
        }
        #expect((code(result) == nil) == isTaken)
    }

    static let failures: [(LoadError.Code, NameError.Code, Int?)] = [
        (.resourceTimeout, .timeout, 100), (.idleTimeout, .timeout, 100), (.refusedByPolicy, .hostNotListed, 101),
        (.cannotConnect, .networkError, 102), (.serverNotTrusted, .networkError, 102),
        (.protocolViolation, .parsingResponseError, 103), (.responseTooLarge, .parsingResponseError, 103),
        (.internalFailure, .internalError, 104), (.notAuthorized, .couldNotPerformService, 500),
        (.withdrawn, .couldNotPerformService, 500), (.cancelled, .cancelled, nil),
    ]

    @Test(arguments: failures)
    func failuresHaveTheirNumbers(_ cause: LoadError.Code, _ expected: NameError.Code, _ number: Int?) async {
        let result = await lookUp("a.example") { _ throws(LoadError) in throw LoadError(cause, "It failed.") }
        #expect(code(result) == expected)
        if case .failure(let error) = result { #expect(error.documentedNumber == number) }
    }

    @Test func answersThatAreNoneHaveThemToo() async {
        let outcomes: [(NameOutcome, NameError.Code)] = [
            (.refused(status: 429), .couldNotPerformService), (.refused(status: 403), .couldNotPerformService),
            (.unreadable, .parsingResponseError),
        ]
        for (outcome, expected) in outcomes {
            #expect(code(await lookUp("a.example") { _ throws(LoadError) in outcome }) == expected)
        }
        let codes: [(DNSMessage.ResponseCode, NameError.Code)] = [
            (.refused, .hostNotListed), (.serverFailure, .couldNotPerformService),
            (.formatError, .couldNotPerformService), (.notImplemented, .couldNotPerformService),
        ]
        for (answer, expected) in codes {
            let result = await lookUp("a.example") { query throws(LoadError) in Self.answer(query, [], answer) }
            #expect(code(result) == expected)
        }
        let cut = await lookUp("a.example") { query throws(LoadError) in
            var message = DNSMessage(answering: query)
            message.isTruncated = true
            return .answered(message)
        }
        #expect(code(cut) == .parsingResponseError)
    }

    @Test(arguments: [
        "", ".", "..", "127.0.0.1", "0x7f.1", "2130706433", "[::1]", "a b", "a..b", "a/b",
        String(repeating: "a", count: 64) + ".example", String(repeating: "abcdefg.", count: 32) + "example",
    ]) func invalidNamesAreNotLookedUp(_ name: String) async {
        for type in NameAnswer.RecordType.allCases {
            let result = await lookUp(name, type) { _ throws(LoadError) in
                Issue.record("\(name) was asked for.")
                return .unreadable
            }
            #expect(code(result) == .parameterError, "\(name)")
        }
    }

    @Test func oneSpellingIsAskedFor() async throws {
        let answer = try await lookUp("bücher.example") { query throws(LoadError) in Self.answer(query, []) }.get()
        #expect(answer.name == "xn--bcher-kva.example")
    }

    @Test(arguments: [
        (Duration.zero, false), (.seconds(-1), false), (.milliseconds(1), true), (.seconds(60), true),
        (.seconds(61), false),
    ]) func theTimeHasItsLimits(_ limit: Duration, _ isTaken: Bool) async {
        let result = await lookUp("a.example", within: limit) { query throws(LoadError) in Self.answer(query, []) }
        #expect(code(result) == (isTaken ? nil : .parameterError))
    }

    @Test func soManyAtOnceAndNoMore() async throws {
        let (begun, gate) = (Lock(0), Signal())
        let source = Source { query throws(LoadError) in
            begun.withLock { $0 += 1 }
            await gate.wait()
            return Self.answer(query, [])
        }
        let names = Names(source: source)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<Names.maximumLookups {
                group.addTask { _ = try? await names.lookUp("n\(number).example") }
            }
            while begun.withLock({ $0 }) < Names.maximumLookups { await Task.yield() }
            await #expect(throws: NameError(.couldNotPerformService, "")) { try await names.lookUp("one.more.example") }
            gate.fire()
        }
        #expect(try await names.lookUp("after.example").exists)
    }

    @Test func bothKindsOfAddressesAreAskedForAtOnce() async throws {
        let source = Source { query throws(LoadError) in
            let isFour = query.question.type == .a
            return Self.answer(query, [("h.example", .address(isFour ? .v4(5) : .v6(high: 0, low: 9)))])
        }
        let found = try await Names(source: source).addresses(of: "h.example")
        #expect(found == [.v6(high: 0, low: 9), .v4(5)] && source.asked.withLock { $0.count } == 2)
    }

    @Test func recordTypesHaveTheirNumbers() {
        #expect(NameAnswer.RecordType.allCases.map(\.number) == [0, 1, 2, 3])
        #expect(NameAnswer.RecordType.allCases.first == .cname)
    }

    // MARK: With a completion handler

    private typealias Told = (answer: NameAnswer?, error: NameError?)

    /// What each completion handler was told, in their order.
    private func ask(_ names: Names, _ hosts: [String], while body: () async throws -> Void = {}) async throws
        -> [Told]
    {
        let (stream, told) = AsyncStream<Told>.makeStream()
        for host in hosts {
            names.nslookup(host, type: .a, within: .seconds(30)) { told.yield(($0, $1)) }
        }
        try await body()
        var all: [Told] = []
        for await one in stream.prefix(hosts.count) { all.append(one) }
        return all
    }

    @Test func theAnswerIsToldAndNoError() async throws {
        let names = Names(
            source: Source { query throws(LoadError) in
                Self.answer(query, [("h.example", .address(.v4(5)))])
            })
        let told = try await ask(names, ["h.example"])
        #expect(told.first?.answer?.addresses == [.v4(5)] && told.first?.error == nil)
    }

    @Test(arguments: failures)
    func theErrorIsToldAndNoAnswer(_ cause: LoadError.Code, _ expected: NameError.Code, _ number: Int?) async throws {
        let names = Names(source: Source { _ throws(LoadError) in throw LoadError(cause, "It failed.") })
        let told = try await ask(names, ["a.example"])
        #expect(told.first?.answer == nil && told.first?.error?.code == expected)
        #expect(told.first?.error?.documentedNumber == number)
        // What cannot be asked for is told in the same way.
        #expect(try await ask(names, [""]).first?.error?.documentedNumber == 105)
    }

    @Test func oneTooManyIsToldAtOnce() async throws {
        let (begun, gate) = (Lock(0), Signal())
        let names = Names(
            source: Source { query throws(LoadError) in
                begun.withLock { $0 += 1 }
                await gate.wait()
                return Self.answer(query, [])
            })
        let hosts = (0..<Names.maximumLookups).map { "n\($0).example" }
        let told = try await ask(names, hosts) { () async throws -> Void in
            #expect(try await eventually { begun.withLock { $0 } == Names.maximumLookups })
            let refused = try await ask(names, ["onemore.example"])
            #expect(refused.first?.error?.code == .couldNotPerformService)
            gate.fire()
        }
        #expect(told.count { $0.answer != nil } == Names.maximumLookups)
    }

    /// Running look-ups are answered before the shutdown returns, and later ones at once.
    @Test func shutdownCancelsAndWaits() async throws {
        let told = Lock<[NameError.Code?]>([])
        let begun = Signal()
        let names = Names(
            source: Source { query throws(LoadError) in
                begun.fire()
                guard (try? await Task.sleep(for: .seconds(60))) != nil else { throw .cancelled() }
                return Self.answer(query, [])
            })
        names.nslookup("a.example", type: .a, within: .seconds(60)) { _, error in
            told.withLock { $0.append(error?.code) }
        }
        await begun.wait()
        await names.shutdown()
        #expect(told.withLock { $0 } == [.cancelled])
        #expect(try await ask(names, ["b.example"]).first?.error?.code == .cancelled)
        await names.shutdown()
    }
}
