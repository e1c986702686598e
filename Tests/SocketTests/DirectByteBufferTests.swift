import SallyportBase
import SallyportCore
import Testing

@testable import SallyportSocket

@Suite struct DirectByteBufferTests {
    @Test func whatIsAppendedIsReadInItsOrder() throws {
        let buffer = DirectByteBuffer()
        try buffer.append("grüß")
        try buffer.append([0, 1, 2])
        try [3, 4].withUnsafeBytes { (bytes: UnsafeRawBufferPointer) in
            try buffer.write(UnsafeRawBufferPointer(rebasing: bytes[0..<1]))
        }
        #expect(buffer.bytesUnread == 10)
        #expect(buffer.read(upTo: 6) == Array("grüß".utf8))
        #expect(buffer.read(upTo: 100) == [0, 1, 2, 3])
        #expect(buffer.read(upTo: 1).isEmpty && buffer.bytesUnread == 0)
    }

    @Test func aReadGivesWhatThereIsAndNoMoreThanIsAsked() throws {
        let buffer = DirectByteBuffer()
        try buffer.append([1, 2, 3])
        #expect(buffer.read(upTo: 0).isEmpty && buffer.read(upTo: -1).isEmpty)
        var room = [UInt8](repeating: 9, count: 2)
        #expect(room.withUnsafeMutableBytes { buffer.read(into: $0) } == 2)
        #expect(room == [1, 2])
        #expect(room.withUnsafeMutableBytes { buffer.read(into: $0) } == 1)
        #expect(room == [3, 2])
    }

    @Test func theWholeBufferIsConsumed() throws {
        let buffer = DirectByteBuffer()
        #expect(buffer.unreadBytes() == nil && buffer.unreadText() == nil)
        try buffer.append("one")
        #expect(buffer.unreadText() == "one")
        try buffer.append([1, 2])
        #expect(buffer.unreadBytes() == [1, 2])
        #expect(buffer.bytesUnread == 0)
    }

    @Test func whatIsNoTextStaysWhereItIs() throws {
        let buffer = DirectByteBuffer()
        try buffer.append([0xff, 0xfe])
        #expect(buffer.unreadText() == nil)
        #expect(buffer.unreadBytes() == [0xff, 0xfe])
    }

    @Test func oneOctetTooManyIsRefusedWhole() throws {
        let buffer = DirectByteBuffer(limit: .bytes(4))
        try buffer.append([1, 2, 3, 4])
        #expect(throws: SocketError(.bufferFull, "")) { try buffer.append([5]) }
        #expect(buffer.read(upTo: 1) == [1])
        #expect(throws: SocketError(.bufferFull, "")) { try buffer.append([5, 6]) }
        try buffer.append([5])
        #expect(buffer.unreadBytes() == [2, 3, 4, 5])
    }

    @Test func manySmallReadsOfALongBufferKeepTheOrder() throws {
        let buffer = DirectByteBuffer(limit: .megabytes(1))
        let all = payload(400_000)
        var read: [UInt8] = []
        for start in stride(from: 0, to: all.count, by: 40_000) {
            try buffer.append(all[start..<start + 40_000])
            while buffer.bytesUnread > 20_000 { read += buffer.read(upTo: 777) }
        }
        read += try #require(buffer.unreadBytes())
        #expect(read == all)
    }

    @Test func whoWaitsForRoomGoesOnWhenThereIsSomeOrIsStirred() async throws {
        let buffer = DirectByteBuffer(limit: .bytes(2))
        await buffer.waitForRoom(since: 0)
        try buffer.append([1, 2])
        async let room: Void = buffer.waitForRoom(since: 0)
        _ = buffer.read(upTo: 1)
        await room
        try buffer.append([3])
        let stirs = buffer.stirs
        let waiting = Task { await buffer.waitForRoom(since: stirs) }
        waiting.cancel()
        await waiting.value
        // Stirred before it begins to wait.
        let before = buffer.stirs
        buffer.stir()
        await buffer.waitForRoom(since: before)
    }
}
