import SallyportCore
import Testing

@testable import SallyportTransport

struct OriginTableTests {
    private static func origin(_ number: Int) throws -> Origin {
        let host = try Host("server\(number).example")
        return Origin(endpoint: try Endpoint(host: host, port: 443), isSecure: true, isHTTP1Only: false)
    }

    @Test func aValueIsFoundAfterOthersWereUsed() throws {
        var table = OriginTable<Int>()
        let (first, second) = (try Self.origin(1), try Self.origin(2))
        table.change(first, from: 1) { $0 += 10 }
        table.change(second, from: 2) { $0 += 10 }
        #expect(table[first] == 11 && table[second] == 12 && table.count == 2)
        table.change(first, from: 0) { $0 += 10 }
        #expect(table[first] == 21 && table.change(second) { $0 } == 12)
    }

    @Test func anOriginWithoutAValueIsNotChanged() throws {
        var table = OriginTable<Int>()
        let (known, unknown) = (try Self.origin(1), try Self.origin(2))
        table.change(known, from: 1) { $0 += 1 }
        var calls = 0
        #expect(table.change(unknown) { _ in calls += 1 } == nil && calls == 0)
        #expect(table[unknown] == nil && table.values == [2])
    }

    @Test func originsThatDifferInOneThingOnlyAreApart() throws {
        var table = OriginTable<Int>()
        let origin = try Self.origin(1)
        var (plain, http1, port) = (origin, origin, origin)
        plain.isSecure = false
        http1.isHTTP1Only = true
        port.endpoint = try Endpoint(host: origin.endpoint.host, port: 8443)
        for (index, origin) in [origin, plain, http1, port].enumerated() {
            #expect(table[origin] == nil)
            table.change(origin, from: index) { _ in }
        }
        #expect(table[origin] == 0 && table[plain] == 1 && table[http1] == 2 && table[port] == 3)
    }

    /// Beside a dictionary, in any order of calls.
    @Test func itHoldsWhatADictionaryHolds() throws {
        var (table, expected) = (OriginTable<Int>(), [Origin: Int]())
        let origins = try (0..<8).map(Self.origin)
        for step in 0..<5000 {
            guard let origin = origins.randomElement() else { return }
            switch Int.random(in: 0..<4) {
            case 0:
                table.change(origin, from: 0) { $0 = step }
                expected[origin] = step
            case 1:
                table.change(origin) { $0 += 1 }
                if let value = expected[origin] { expected[origin] = value + 1 }
            case 2:
                table.remove(origin)
                expected[origin] = nil
            default: break
            }
            for origin in origins { try #require(table[origin] == expected[origin], "step \(step)") }
            try #require(table.count == expected.count && Set(table.values) == Set(expected.values))
        }
    }
}
