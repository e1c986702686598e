import SallyportEventLoop

/// Counts on one loop's thread, without a lock.
actor Counter {
    nonisolated let loop: EventLoop
    private(set) var count = 0

    init(on loop: EventLoop) { self.loop = loop }

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    func add() { count += 1 }
}

/// Calls the actor from a task on the same thread: a call is no hop.
func countToAThousand() async -> Int {
    let loop = EventLoopGroup.shared.next()
    let counter = Counter(on: loop)
    await withTaskExecutorPreference(loop) { await addThousand(to: counter) }
    return await counter.count
}

@concurrent func addThousand(to counter: Counter) async {
    for _ in 0..<1000 { await counter.add() }
}
