import Dispatch
import Foundation
import Glibc
import Sallyport
import SallyportBase
import SallyportDoor

/// Carries out commands for other processes of the same user: while a door is open, its process alone has the store, and
/// `fetch`, `connect`, `token` and `proxy env` hand their arguments, standard streams, folder and umask to it.
///
/// A message is four bytes of length (big-endian) and JSON, with the three descriptors of the standard streams; the answer
/// is the exit status, four bytes. If the process ends or disconnects, its command is cancelled.
final class CommandService: Sendable {
    /// A command of another process.
    struct Order: Codable, Sendable {
        var arguments: [String]
        var folder: String
        /// See ``ProcessMask``.
        var umask: mode_t
        /// See ``Workplace/defaultStore``.
        var store: String
    }

    /// The longest message, in bytes.
    static let limit = 4 << 20
    /// The number of commands that run at the same time. Each may block two threads (``BlockingCalls``), one that reads
    /// and one that writes, and Dispatch has 255 threads for all queues together: more commands that wait for their
    /// input would leave no thread to write with, and all would stand still.
    static let commandLimit = 120

    private let app: Sallyport
    private let listener: Int32
    private let file: SocketFile?
    private let slots = DispatchSemaphore(value: commandLimit)

    /// Beside the store's files.
    static func path(of store: String) -> String { DirectoryPath.appending("door.sock", to: store) }

    /// - Throws: `DoorError` if it cannot listen.
    init(for app: Sallyport, store: String) throws {
        self.app = app
        (listener, file) = try DescriptorPassing.listen(at: Self.path(of: store))
        Thread.detachNewThread { [self] in takeConnections() }
    }

    /// Takes no further commands. Those under way end with the app.
    func shutdown() {
        file?.remove()
        // Wakes the thread, which closes the socket.
        Glibc.shutdown(listener, Int32(SHUT_RDWR))
    }

    private func takeConnections() {
        defer { close(listener) }
        while true {
            let connection = accept(listener, nil, nil)
            guard connection >= 0 else {
                if errno == EINTR || errno == ECONNABORTED { continue }
                // EINVAL: the listener was shut down. Other errors, such as too few descriptors or too little memory,
                // pass.
                guard errno != EINVAL else { return }
                usleep(100_000)
                continue
            }
            _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
            slots.wait()
            Thread.detachNewThread { [self] in
                serve(connection)
                close(connection)
                slots.signal()
            }
        }
    }

    private func serve(_ connection: Int32) {
        guard DescriptorPassing.user(at: connection) == geteuid(), let (order, streams) = receive(connection) else {
            return
        }
        let passed = PassedStreams(streams, until: connection)
        let workplace = Workplace(
            input: streams[0], output: streams[1], error: streams[2], folder: order.folder, umask: order.umask,
            defaultStore: order.store, app: app, streams: passed)
        let done = DispatchSemaphore(value: 0)
        let task = Task.detached {
            let status = await Workplace.$current.withValue(workplace) {
                await SallyportProgram.run(order.arguments)
            }
            try? DescriptorPassing.send(UInt32(bitPattern: status.rawValue).bigEndianBytes, over: connection)
            // Ends the wait below, and reads that still wait for input.
            Glibc.shutdown(connection, Int32(SHUT_RD))
            done.signal()
        }
        var byte: UInt8 = 0
        while recv(connection, &byte, 1, 0) < 0, errno == EINTR {}
        task.cancel()
        done.wait()
        passed.end()
    }

    private func receive(_ connection: Int32) -> (Order, [Int32])? {
        guard let (head, streams) = try? DescriptorPassing.receive(4, descriptors: 3, over: connection) else {
            return nil
        }
        let length = Int(UInt32(bigEndianBytes: head))
        guard streams.count == 3, length <= Self.limit,
            let (body, _) = try? DescriptorPassing.receive(length, over: connection),
            let order = try? JSONDecoder().decode(Order.self, from: Data(body))
        else {
            for stream in streams { close(stream) }
            return nil
        }
        return (order, streams)
    }
}
