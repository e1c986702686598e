internal import SallyportEventLoop

/// The thread on which downloads wait for the disk. One for the process, started with the first download.
enum FileThread {
    private static let loop = EventLoop(name: "sallyport-files")

    static func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            loop.execute { continuation.resume(returning: work()) }
        }
    }
}
