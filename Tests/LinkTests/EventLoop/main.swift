// Links the event loops alone, and runs an actor on one, so that the loop itself is linked.
import SallyportEventLoop

actor Counter {
    nonisolated let loop: EventLoop
    private var count = 0

    init(on loop: EventLoop) { self.loop = loop }

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    func next() -> Int {
        count += 1
        return count
    }
}

print(await Counter(on: EventLoopGroup.shared.next()).next())
