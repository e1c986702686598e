import SallyportBase
import SallyportCore
import TestSupport
import Testing

@testable import SallyportSocket

@Suite struct DirectByteBufferTests {
    private func buffer(_ limit: ByteCount = .mebibytes(1)) throws -> DirectByteBuffer {
        var configuration = SocketConfiguration()
        configuration.outboundLimit = limit
        let sockets = try SocketApp(in: World()).sockets
        return try sockets.socket(host: "localhost", port: 1, isSecure: false, configuration).writeStream
    }

    @Test func appendedBytesAreReadInOrder() async throws {
        let buffer = try buffer()
        try await buffer.append("grüß")
        try await buffer.append([0, 1, 2])
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 2, alignment: 1)
        defer { room.deallocate() }
        room.copyBytes(from: [3, 4])
        try await buffer.write(UnsafeRawBufferPointer(rebasing: room[0..<1]))
        #expect(await buffer.bytesUnread == 10)
        #expect(await buffer.read(upTo: 6) == Array("grüß".utf8))
        #expect(await buffer.read(upTo: 100) == [0, 1, 2, 3])
        #expect(await buffer.read(upTo: 1).isEmpty)
        #expect(await buffer.bytesUnread == 0)
    }

    @Test func aReadGivesWhatThereIsAndNoMoreThanIsAsked() async throws {
        let buffer = try buffer()
        try await buffer.append([1, 2, 3])
        #expect(await buffer.read(upTo: 0).isEmpty)
        #expect(await buffer.read(upTo: -1).isEmpty)
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 2, alignment: 1)
        defer { room.deallocate() }
        #expect(await buffer.read(into: room) == 2)
        #expect(Array(room) == [1, 2])
        #expect(await buffer.read(into: room) == 1)
        #expect(Array(room) == [3, 2])
    }

    @Test func theWholeBufferIsConsumed() async throws {
        let buffer = try buffer()
        #expect(await buffer.unreadBytes() == nil)
        #expect(await buffer.unreadText() == nil)
        try await buffer.append("one")
        #expect(await buffer.unreadText() == "one")
        try await buffer.append([1, 2])
        #expect(await buffer.unreadBytes() == [1, 2])
        #expect(await buffer.bytesUnread == 0)
    }

    @Test func bytesThatAreNotTextStayInTheBuffer() async throws {
        let buffer = try buffer()
        try await buffer.append([0xff, 0xfe])
        #expect(await buffer.unreadText() == nil)
        #expect(await buffer.unreadBytes() == [0xff, 0xfe])
    }

    @Test func anAppendOfOneByteTooManyIsRefusedAsAWhole() async throws {
        let buffer = try buffer(.bytes(4))
        try await buffer.append([1, 2, 3, 4])
        await #expect(throws: SocketError(.bufferFull, "")) { try await buffer.append([5]) }
        #expect(await buffer.read(upTo: 1) == [1])
        await #expect(throws: SocketError(.bufferFull, "")) { try await buffer.append([5, 6]) }
        try await buffer.append([5])
        #expect(await buffer.unreadBytes() == [2, 3, 4, 5])
    }

    @Test func manySmallReadsOfALongBufferKeepTheOrder() async throws {
        let buffer = try buffer(.mebibytes(1))
        let all = payload(400_000)
        var read: [UInt8] = []
        for start in stride(from: 0, to: all.count, by: 40_000) {
            try await buffer.append(all[start..<start + 40_000])
            while await buffer.bytesUnread > 20_000 { read += await buffer.read(upTo: 777) }
        }
        read += await buffer.unreadBytes() ?? []
        #expect(read == all)
    }
}
