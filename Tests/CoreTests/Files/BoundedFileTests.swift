import Glibc
import SallyportBase
import SallyportCore
import TestSupport
import Testing

/// What is read of a path that may lead to anything.
@Suite(.timeLimit(.minutes(1))) struct BoundedFileTests {
    private let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory()
        try folder.write("0123456789", to: "ten")
        try #require(mkfifo(folder.file("fifo"), 0o600) == 0)
    }

    /// Waits as the command line does.
    private static func isReady(_ descriptor: Int32) -> Bool {
        var place = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&place, 1, -1) > 0
    }

    /// Why nine bytes are not read.
    private func reason(
        _ path: String, awaiting isReady: ((Int32) -> Bool)? = nil
    ) -> BoundedFile.Failure.Reason? {
        let failure = #expect(throws: BoundedFile.Failure.self) {
            try BoundedFile.read(path, upTo: 9, awaiting: isReady)
        }
        #expect(failure?.description.hasPrefix("\(path) ") == true)
        return failure?.reason
    }

    @Test func aFileIsReadUpToItsLimit() throws {
        let path = folder.file("ten")
        #expect(try BoundedFile.read(path, upTo: 10) == Array("0123456789".utf8))
        #expect(try BoundedFile.read(path, upTo: .max).count == 10)
        #expect(reason(path) == .tooLong)
        #expect(reason(path, awaiting: Self.isReady) == .tooLong)
    }

    @Test func aLongFileComesInPieces() throws {
        let text = String(repeating: "0123456789", count: 20_000)
        let path = try folder.write(text, to: "long")
        var pieces: [[UInt8]] = []
        try BoundedFile.forEachPiece(of: path, upTo: text.utf8.count) { pieces.append($0) }
        #expect(pieces.count > 1)
        #expect(Array(pieces.joined()) == Array(text.utf8))
    }

    @Test func whatIsNoRegularFileIsRefusedAtOnce() {
        for path in [folder.file("fifo"), "/dev/zero", folder.path] { #expect(reason(path) == .notRegular, "\(path)") }
        for name in ["none", "ten/below"] { #expect(reason(folder.file(name)) == .missing, "\(name)") }
    }

    @Test func aPipeOfTheCommandLineIsReadUpToTheLimit() throws {
        var ends: [Int32] = [0, 0]
        let result = pipe(&ends)
        try #require(result == 0)
        let (reading, writing) = (ends[0], ends[1])
        defer { close(reading) }
        let bytes = Array("012345678".utf8)
        let written = write(writing, bytes, bytes.count)
        close(writing)
        #expect(written == bytes.count)
        let path = "/dev/fd/\(reading)"
        #expect(reason(path) == .notRegular)
        #expect(try BoundedFile.read(path, upTo: 9, awaiting: Self.isReady) == bytes)
        #expect(reason("/dev/zero", awaiting: Self.isReady) == .tooLong)
    }

    @Test func waitingForTheWriterOfAFIFOCanBeGivenUp() {
        #expect(reason(folder.file("fifo"), awaiting: { _ in false }) == .system(ECANCELED))
    }

    @Test func aPEMFileHasALimitAndIsNoPipe() throws {
        let text = "-----BEGIN X-----\nAAAA\n-----END X-----\n"
        let path = try folder.write(text, to: "pem")
        #expect(try PEMFile.blocks("X", at: path, limit: text.utf8.count) == [[0, 0, 0]])
        for (path, limit) in [(path, text.utf8.count - 1), (folder.file("fifo"), 100), ("/dev/zero", 100)] {
            let error = #expect(throws: LoadError.self) { try PEMFile.blocks("X", at: path, limit: limit) }
            #expect(error?.code == .fileSystem && error?.message.hasPrefix("\(path) ") == true)
        }
    }
}
