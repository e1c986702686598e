internal import CLinux
internal import Glibc

/// Calls of libkrb5 that must not hold a thread of the cooperative pool, because they block or compute for long: each
/// runs on a thread of its own, which ends with it.
enum OwnThread {
    /// - Parameter name: the thread's, at most 15 bytes.
    /// - Returns: false if the system allows no further thread; `body` is not called then.
    static func start(_ name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        var thread = pthread_t()
        let kept = unsafe Unmanaged.passRetained(Body(name, body))
        let result = unsafe pthread_create(
            &thread, nil,
            { pointer in
                guard let pointer = unsafe pointer else { return nil }
                unsafe Unmanaged<Body>.fromOpaque(pointer).takeRetainedValue().run()
                return nil
            }, kept.toOpaque())
        guard result == 0 else {
            unsafe kept.release()
            return false
        }
        pthread_detach(thread)
        return true
    }

    /// - Returns: the result of `body`; nil if the system allows no further thread.
    static func result<Value: Sendable>(_ name: String, of body: @escaping @Sendable () -> Value) async -> Value? {
        await withCheckedContinuation { (continuation: CheckedContinuation<Value?, Never>) in
            let hasStarted = start(name) { continuation.resume(returning: body()) }
            if !hasStarted { continuation.resume(returning: nil) }
        }
    }

    private final class Body: Sendable {
        private let name: String
        private let body: @Sendable () -> Void

        init(_ name: String, _ body: @escaping @Sendable () -> Void) { (self.name, self.body) = (name, body) }

        func run() {
            unsafe pthread_setname_np(pthread_self(), name)
            body()
        }
    }
}
