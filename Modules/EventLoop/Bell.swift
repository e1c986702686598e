internal import CLinux
internal import Glibc

/// Wakes a thread that waits in `epoll_wait`: an eventfd.
final class Bell: Sendable {
    let descriptor: Int32

    init() {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        precondition(descriptor >= 0, "The system allows another descriptor.")
    }

    deinit { close(descriptor) }

    func ring() { _ = eventfd_write(descriptor, 1) }

    func silence() {
        var count = eventfd_t()
        _ = unsafe eventfd_read(descriptor, &count)
    }
}
