internal import CLinux
internal import Glibc

/// Wakes a thread that waits in `epoll_wait`, or for the bell itself: an eventfd.
final class Bell: Sendable {
    let descriptor: Int32

    /// - Parameter isAwaited: whether a thread waits for the bell itself, and for nothing else.
    init(isAwaited: Bool = false) {
        descriptor = eventfd(0, Int32(isAwaited ? EFD_CLOEXEC : EFD_CLOEXEC | EFD_NONBLOCK))
        precondition(descriptor >= 0, "The system allows another descriptor.")
    }

    deinit { close(descriptor) }

    func ring() { _ = eventfd_write(descriptor, 1) }

    /// Silences it. One that is awaited is waited for, if it does not ring yet and no signal comes.
    func silence() {
        var count = eventfd_t()
        _ = unsafe eventfd_read(descriptor, &count)
    }
}
