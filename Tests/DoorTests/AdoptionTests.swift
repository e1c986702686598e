import Glibc
import TestSupport
import Testing

@testable import SallyportDoor

/// Sockets that a door is given while it is open.
@Suite(.timeLimit(.minutes(1))) struct AdoptionTests {
    @Test(arguments: [false, true]) func aSocketThatTheDoorRefusesIsClosed(isShutDown: Bool) async throws {
        var pipe: [Int32] = [-1, -1]
        guard Glibc.pipe(&pipe) == 0 else { throw Unexpected("There is no pipe.") }
        let (reader, writer) = (pipe[0], pipe[1])
        defer { close(reader) }
        let app = try await DoorApp(in: try World())
        if isShutDown { await app.door.shutdown() }
        let error = await #expect(throws: DoorError.self) { try await app.door.adopt(writer) }
        let code: DoorError.Code = isShutDown ? .shutDown : .invalidPlace
        #expect(error?.code == code)
        // The end of the pipe: nothing has its writer open any more.
        _ = fcntl(reader, F_SETFL, O_NONBLOCK)
        var byte: UInt8 = 0
        let count = read(reader, &byte, 1)
        #expect(count == 0)
        await app.door.shutdown()
    }
}
