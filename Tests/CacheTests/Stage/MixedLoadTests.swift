import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import Synchronization
import Testing

@testable import SallyportCache

/// Everything at once: loads, ranges, changes, removals, a small capacity and cancellation. Each body belongs to its
/// URL and is complete, and no load waits for ever.
@Suite(.timeLimit(.minutes(2))) struct MixedLoadTests {
    private static func body(_ number: Int) -> [UInt8] {
        let length = [10, 3000, 66_000, 150_000][number % 4]
        return [UInt8](repeating: UInt8(number), count: length)
    }

    private static func site() async throws -> Site {
        let site = try await Site { request, number throws(LoadError) in
            if number % 7 == 0 { try? await Task.sleep(for: .milliseconds(2)) }
            if Task.isCancelled { throw .cancelled() }
            let which = Int(request.url.query ?? "") ?? 0
            if which % 5 == 4 { return Answer(200, ["Cache-Control": "no-store"], body: body(which)) }
            let fields: KeyValuePairs = [
                "Cache-Control": "max-age=\(which % 3)", "ETag": "\"\(which)\"", "Vary": which % 2 == 0 ? "x-a" : "x-b",
            ]
            if request.headerFields[.ifNoneMatch] == "\"\(which)\"" { return Answer(304, fields) }
            return Answer(200, fields, body: body(which))
        }
        site.cache.diskCapacity = 4 << 20
        return site
    }

    @Test func everyLoadGetsTheAnswerOfItsURL() async throws {
        let site = try await Self.site()
        let outcomes = await withTaskGroup(of: Bool?.self) { group in
            for worker in 0..<16 {
                group.addTask { await Self.work(worker, on: site) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.allSatisfy { $0 == true })
        await site.cache.settle()
        #expect(site.cache.statistics.hits > 0 && site.cache.statistics.bytes <= 4 << 20)
        #expect(site.cache.state.withLock { $0.flights.isEmpty }, "No flight is left over.")
        #expect(site.cache.pendingBytes.load(ordering: .relaxed) == 0)
    }

    /// False where a body was another's.
    private static func work(_ worker: Int, on site: Site) async -> Bool {
        var isRight = true
        for step in 0..<150 {
            let number = (worker * 31 + step * 17) % 24
            let task = Task { try await load(number, step, on: site) }
            if step % 11 == 3 { task.cancel() }
            switch await task.result {
            case .success(let isSame): isRight = isRight && isSame
            case .failure(let error): isRight = isRight && (error as? LoadError)?.code == .cancelled
            }
            if step % 20 == 19 { site.clock.pass(1) }
            if worker == 0, step == 30 { try? await site.cache.removeAll() }
        }
        return isRight
    }

    private static func load(_ number: Int, _ step: Int, on site: Site) async throws -> Bool {
        var request = try site.request("/?\(number)", ["X-A": "\(step % 2)"], method: step % 13 == 5 ? .post : .get)
        if step % 9 == 2 { request.headerFields[.range] = "bytes=2-7" }
        let response = try await site.response(to: request)
        if step % 10 == 7 {
            response.body.discard()
            return true
        }
        let expected = body(number)
        let bytes = try await response.body.collect(upTo: .mebibytes(1))
        return response.head.status == .partialContent ? bytes == Array(expected[2...7]) : bytes == expected
    }
}
