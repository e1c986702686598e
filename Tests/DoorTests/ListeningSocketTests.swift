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

    @Test(arguments: [(false, 0o600), (true, 0o666)] as [(Bool, mode_t)])
    func theFileHasItsModeAndGoesWithItsSocket(isForAll: Bool, expected: mode_t) throws {
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

    /// A socket at the path, which does not listen, and whose file has this mode. The caller closes it.
    private func boundSocket(mode: mode_t) throws -> Int32 {
        let address = try #require(SocketAddress(path: path))
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let result = address.with({ bind(descriptor, $0, $1) })
        try #require(result == 0)
        try #require(chmod(path, mode) == 0)
        return descriptor
    }

    /// The umask of most systems takes the right to connect from other users; a kernel that gives sockets no mode
    /// leaves more than the owner's.
    @Test(arguments: [(0o600, 0o666), (0o700, 0o600), (0o755, 0o600)] as [(mode_t, mode_t)])
    func aFileThatWasBoundWithAnotherModeGetsItsOwn(bound: mode_t, expected: mode_t) throws {
        let descriptor = try boundSocket(mode: bound)
        defer { close(descriptor) }
        let file = try SocketFile(boundTo: path, mode: expected)
        #expect(mode(of: path) == expected)
        file.remove()
        #expect(!isThere)
    }

    @Test func aFileWhoseModeCannotBeSetIsRemoved() throws {
        let descriptor = try boundSocket(mode: 0o600)
        defer { close(descriptor) }
        let failure = #expect(throws: SocketFile.Failure.self) {
            try SocketFile(boundTo: path, mode: 0o666) { _, _ in EROFS }
        }
        #expect(failure?.number == EROFS && !isThere)
    }

    /// With a second name it may be the file of another socket.
    @Test func aFileThatMayBeAnotherSocketsIsLeftAsItIs() throws {
        let descriptor = try boundSocket(mode: 0o600)
        defer { close(descriptor) }
        try #require(link(path, folder.file("other")) == 0)
        let failure = #expect(throws: SocketFile.Failure.self) { try SocketFile(boundTo: path, mode: 0o666) }
        #expect(failure?.number == EPERM && mode(of: path) == 0o600)
    }

    /// A file system gives the inode of a removed file to the next one. Here another door has removed the file that was
    /// left behind, and listens at the path.
    @Test func aFileThatWasLeftBehindIsNotTakenForTheOneThatCameAfterIt() throws {
        close(try boundSocket(mode: 0o600))
        let held = try HeldFile(path)
        let file = try #require(held.socketFile)
        try #require(unlink(path) == 0)
        let socket = try ListeningSocket(place, isForAll: false)
        file.remove()
        #expect(isThere)
        withExtendedLifetime(held) {}
        socket.close()
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
