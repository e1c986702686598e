import Glibc
import TestSupport
import Testing

@testable import SallyportDoor

/// The files of Unix sockets that a door listens on.
struct ListeningSocketTests {
    private let folder: TemporaryDirectory
    private var path: String { folder.file("door") }
    private var place: DoorPlace { .unixSocket(path: path) }

    init() throws { folder = try TemporaryDirectory() }

    private var isThere: Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    private func mode(of path: String) -> mode_t {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    /// The umask of most systems takes the right to connect from other users.
    @Test(arguments: [(false, 0o600), (true, 0o666)] as [(Bool, mode_t)])
    func theFileHasItsModeWhateverTheUmaskIs(isForAll: Bool, expected: mode_t) throws {
        let socket = try ListeningSocket(place, isForAll: isForAll)
        #expect(mode(of: path) == expected)
        socket.close()
        #expect(!isThere)
    }

    /// Another door may listen at the path by then, as after its file was removed by hand.
    @Test func theSocketOfAnotherDoorIsNotRemoved() throws {
        let first = try ListeningSocket(place, isForAll: false)
        try #require(unlink(path) == 0)
        let second = try ListeningSocket(place, isForAll: false)
        first.close()
        #expect(isThere)
        second.close()
        #expect(!isThere)
    }

    @Test func theSocketOfAnotherDoorThatTakesCommandsIsNotRemoved() throws {
        let first = try DescriptorPassing.listen(at: path)
        try #require(unlink(path) == 0)
        let second = try DescriptorPassing.listen(at: path)
        defer { for descriptor in [first.descriptor, second.descriptor] { close(descriptor) } }
        first.file?.remove()
        #expect(isThere)
        second.file?.remove()
        #expect(!isThere)
    }

    /// Another program may have put a link in the place of the file before its mode is set.
    @Test func aLinkInThePlaceOfTheFileIsNotFollowed() throws {
        let target = try ListeningSocket(.unixSocket(path: folder.file("target")), isForAll: false)
        defer { target.close() }
        try #require(symlink(folder.file("target"), path) == 0)
        let failure = #expect(throws: SocketFile.Failure.self) { try SocketFile(boundTo: path, mode: 0o666) }
        #expect(failure?.number == ENOTSOCK)
        #expect(mode(of: folder.file("target")) == 0o600)
    }
}
