internal import Glibc
internal import SallyportBase

/// A long body that comes fast at first, so that the kernel reports only large portions of it, and then a byte at a
/// time. Its reader is of this process.
package final class SlowBody: Sendable {
    private static let (fast, slow) = (4 << 20, 5)
    private static let piece = 256 << 10
    /// Of its bytes. So many of them come behind the slow ones that the kernel would wait for another large portion.
    package static let total = 8 << 20

    private let taken = Lock(0)
    private let written = Lock(0)
    private let reports = Lock<[Int32]>([])
    private let late = Lock<[Int]>([])

    package init() {}

    /// How many bytes the reader has.
    package var count: Int { taken.withLock { $0 } }
    /// From how many bytes on the kernel reported the body to the reader: at the most, and at the end of the slow part.
    package var mostReported: Int32 { reports.withLock { $0.max() ?? 0 } }
    package var lastReported: Int32 { reports.withLock { $0.last ?? 0 } }
    /// The numbers of those slow bytes that did not arrive within a second.
    package var lateBytes: [Int] { late.withLock { $0 } }

    package func takes(_ count: Int) { taken.withLock { $0 += count } }

    /// Waits until the server has nothing more to write, or no room to write it: the count did not grow for a while,
    /// ten looks in a row, since a thread may get no processor meanwhile.
    package func isHeldUp() async throws {
        var (before, looks) = (-1, 0)
        while looks < 10 {
            let now = written.withLock { $0 }
            looks = now == before ? looks + 1 : 0
            before = now
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Writes the head and the body. Each of the slow bytes is only written once the reader has all before it.
    package func answer(over connection: TestConnection, _ write: ([UInt8]) -> Bool) {
        guard write(Array("HTTP/1.1 200 OK\r\nContent-Length: \(Self.total)\r\n\r\n".utf8)) else { return }
        for _ in 0..<Self.fast / Self.piece {
            guard write([UInt8](repeating: 0, count: Self.piece)) else { return }
            written.withLock { $0 += Self.piece }
            note(connection)
        }
        guard isTaken(Self.fast, within: .seconds(20), over: connection) else { return }
        for number in 1...Self.slow {
            guard write([1]) else { return }
            guard isTaken(Self.fast + number, within: Soak.second, over: connection) else {
                return late.withLock { $0.append(number) }
            }
        }
        note(connection)
        _ = write([UInt8](repeating: 0, count: Self.total - Self.fast - Self.slow))
    }

    /// - Returns: whether the reader has so many bytes before the time is over.
    private func isTaken(_ count: Int, within limit: Duration, over connection: TestConnection) -> Bool {
        let end = ContinuousClock.now + limit
        while self.count < count, ContinuousClock.now < end {
            usleep(1000)
            note(connection)
        }
        return self.count >= count
    }

    private func note(_ connection: TestConnection) {
        if let count = connection.peerReportsFrom { reports.withLock { $0.append(count) } }
    }
}
