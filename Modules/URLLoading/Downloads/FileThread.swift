internal import SallyportEventLoop

/// The thread on which downloads, and requests' bodies that are read from files, wait for the disk. One for the process,
/// started when it is first needed.
enum FileThread {
    private static let loop = EventLoop(name: "sallyport-files")

    static func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            loop.execute { continuation.resume(returning: work()) }
        }
    }
}
