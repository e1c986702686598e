import Glibc
import TestSupport
import Testing

@testable import SallyportDoor

/// Descriptors that come with a message, of which its receiver takes only so many as it has a use for.
@Suite(.timeLimit(.minutes(1))) struct DescriptorPassingTests {
    /// A pipe's reader, whose writers are both passed by one message.
    ///
    /// - Returns: the reader, and what was received.
    private func receive(
        _ count: Int, descriptors limit: Int
    ) throws -> (reader: Int32, received: (bytes: [UInt8], descriptors: [Int32])) {
        var (pipe, pair): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        guard Glibc.pipe(&pipe) == 0, socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0 else {
            throw Unexpected("There are no descriptors.")
        }
        defer { for end in pair { close(end) } }
        try DescriptorPassing.send([1, 2, 3, 4], [pipe[1], pipe[1]], over: pair[0])
        close(pipe[1])
        return (pipe[0], try DescriptorPassing.receive(count, descriptors: limit, over: pair[1]))
    }

    /// Whether a writer has the pipe open still.
    private func isOpen(_ reader: Int32) -> Bool {
        _ = fcntl(reader, F_SETFL, O_NONBLOCK)
        var byte: UInt8 = 0
        return read(reader, &byte, 1) < 0
    }

    @Test func descriptorsThatAreNotTakenAreClosed() throws {
        let (reader, received) = try receive(4, descriptors: 0)
        defer { close(reader) }
        #expect(received.bytes == [1, 2, 3, 4] && received.descriptors.isEmpty)
        #expect(!isOpen(reader))
    }

    @Test func noMoreDescriptorsAreTakenThanTheReceiverNames() throws {
        let (reader, received) = try receive(4, descriptors: 1)
        defer { close(reader) }
        #expect(received.descriptors.count == 1 && isOpen(reader))
        for descriptor in received.descriptors { close(descriptor) }
        #expect(!isOpen(reader))
    }
}
