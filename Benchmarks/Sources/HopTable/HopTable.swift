import Glibc
import SallyportEventLoop
import Synchronization

/// Prints what a call of an actor costs compared with a lock: the figure by which Docs/Concurrency.md justifies locks.
/// CPU time of the process, the median of five rounds.
@main
struct HopTable {
    private static let rounds = 5
    private static let calls = 300_000
    private static let concurrency = 6

    private actor Counter {
        private var count = 0

        func next() -> Int {
            count += 1
            return count
        }
    }

    private final class LockedCounter: Sendable {
        private let count = Mutex(0)

        func next() -> Int {
            count.withLock { count in
                count += 1
                return count
            }
        }
    }

    static func main() async {
        await measure("a task of the pool")
        await withTaskExecutorPreference(EventLoopGroup.shared.next()) { await measure("a task on a loop") }
    }

    @concurrent private static func measure(_ name: String) async {
        let (actor, locked) = (Counter(), LockedCounter())
        var (hops, locks, shared): ([Double], [Double], [Double]) = ([], [], [])
        var sum = 0
        for _ in 0..<rounds {
            var start = cpu()
            for _ in 0..<calls { sum &+= locked.next() }
            locks.append((cpu() - start) / Double(calls))
            start = cpu()
            for _ in 0..<calls { sum &+= await actor.next() }
            hops.append((cpu() - start) / Double(calls))
            start = cpu()
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<concurrency {
                    group.addTask { for _ in 0..<calls / concurrency { _ = await actor.next() } }
                }
            }
            shared.append((cpu() - start) / Double(calls))
        }
        // Uses the results, so that the compiler does not remove the calls.
        precondition(sum != 0, "Both count.")
        print("\(name): a lock \(text(locks)), a call of an actor \(text(hops)), of six tasks at once \(text(shared))")
    }

    private static func cpu() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func text(_ figures: [Double]) -> String {
        "\((figures.sorted()[figures.count / 2] * 1e9).rounded()) ns"
    }
}
