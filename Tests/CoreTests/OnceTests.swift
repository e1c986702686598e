import SallyportBase
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct OnceTests {
    private final class Holder: Sendable {
        let number = SetOnce<Int>()
    }

    private final class Token: Sendable {
        let number: Int
        init(_ number: Int) { self.number = number }
    }

    private final class Taken: Sendable {
        let token: TakenOnce<Token>
        init(_ token: Token) { self.token = TakenOnce(token) }
    }

    @Test func theFirstValueStays() async {
        let holder = Holder()
        #expect(holder.number.value == nil)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<100 { group.addTask { holder.number.set(number) } }
        }
        let value = holder.number.value
        holder.number.set(100)
        #expect(value != nil && holder.number.value == value)
    }

    @Test func oneOfManyTakesTheReference() async {
        for _ in 0..<100 {
            let taken = Taken(Token(7))
            let takers = await withTaskGroup(of: Token?.self, returning: [Token].self) { group in
                for _ in 0..<8 { group.addTask { taken.token.take() } }
                return await group.reduce(into: []) { all, token in token.map { all.append($0) } }
            }
            #expect(takers.map(\.number) == [7])
            #expect(taken.token.take() == nil)
        }
    }

    @Test func theReferenceIsReleasedOnce() {
        weak var left: Token?
        do {
            let token = Token(1)
            left = token
            _ = Taken(token)
        }
        #expect(left == nil)
        let taken = Taken(Token(2))
        do {
            let token = taken.token.take()
            left = token
            #expect(left?.number == 2)
        }
        #expect(left == nil)
    }
}

@Suite(.timeLimit(.minutes(1))) struct LatestTests {
    private final class Token: Sendable {
        let number: Int
        init(_ number: Int) { self.number = number }
    }

    private final class Holder: Sendable {
        let token = Latest<Token>()
    }

    @Test func theLastValueIsRead() {
        let holder = Holder()
        #expect(holder.token.value == nil)
        for number in 1...3 {
            holder.token.set(Token(number))
            #expect(holder.token.value?.number == number)
        }
    }

    /// Each reader sees one of the values, while others replace it.
    @Test func readersNeverWaitForWriters() async {
        let holder = Holder()
        holder.token.set(Token(0))
        let seen = await withTaskGroup(of: [Int].self, returning: [Int].self) { group in
            for task in 1...4 {
                group.addTask {
                    for number in 1...500 { holder.token.set(Token(task * 1000 + number)) }
                    return []
                }
                group.addTask { (0..<500).compactMap { _ in holder.token.value?.number } }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        #expect(seen.count == 2000 && seen.allSatisfy { $0 == 0 || (1...500).contains($0 % 1000) })
    }

    @Test func allAreReleasedAtTheEnd() {
        weak var first: Token?
        weak var last: Token?
        do {
            let (holder, tokens) = (Holder(), [Token(1), Token(2)])
            (first, last) = (tokens[0], tokens[1])
            for token in tokens { holder.token.set(token) }
        }
        #expect(first == nil && last == nil)
    }
}

@Suite(.timeLimit(.minutes(1))) struct AwaitedValueTests {
    private let value = AwaitedValue<Int>()

    @Test func allWaitingTasksGetTheFirstValue() async {
        async let waiting = withTaskGroup(of: Int?.self, returning: [Int?].self) { [value] group in
            for _ in 0..<32 { group.addTask { await value.wait() } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        await Task.yield()
        value.set(1)
        value.set(2)
        #expect(await waiting == Array(repeating: 1, count: 32))
        #expect(value.value == 1)
        #expect(await value.wait() == 1)
    }

    /// Cancelled before it waits, while it waits, and once the value is there.
    @Test func aCancelledTaskGetsNoValue() async throws {
        for hasBegun in [false, true] {
            let begun = Signal()
            let task = Task { [value] in
                if hasBegun { begun.fire() }
                return await value.wait()
            }
            if hasBegun { await begun.wait() }
            task.cancel()
            #expect(await task.value == nil)
        }
        value.set(1)
        let late = Task { [value] in
            while !Task.isCancelled { await Task.yield() }
            return await value.wait()
        }
        late.cancel()
        #expect(await late.value == nil)
    }
}
