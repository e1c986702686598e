import SallyportCore
import SallyportLoading
import Testing

@Suite struct ServerSelectionTests {
    private struct Server: Hashable {
        let name: Int
        let priority: Int
    }

    private let servers = (0..<12).map { Server(name: $0, priority: $0 % 3 + 1) }

    @Test func lowerPrioritiesComeFirstAndNoServerIsLost() {
        var generator = SeededGenerator(seed: 8)
        for _ in 0..<100 {
            let order = ServerSelection.order(
                servers, priority: \.priority, shuffle: { $0.shuffled(using: &generator) })
            #expect(order.map(\.priority) == order.map(\.priority).sorted())
            #expect(Set(order) == Set(servers))
        }
    }

    @Test func withinOnePriorityEachComesFirstAboutAsOften() {
        var generator = SeededGenerator(seed: 9)
        var firsts: [Int: Int] = [:]
        for _ in 0..<4_000 {
            let first = ServerSelection.order(
                servers, priority: \.priority, shuffle: { $0.shuffled(using: &generator) })[0]
            firsts[first.name, default: 0] += 1
        }
        #expect(firsts.count == 4)
        #expect(firsts.values.allSatisfy { (850...1150).contains($0) })
    }

    @Test func noServersGiveAnEmptyOrder() {
        var generator = SeededGenerator(seed: 10)
        #expect(
            ServerSelection.order([Server](), priority: \.priority, shuffle: { $0.shuffled(using: &generator) }).isEmpty
        )
    }
}
