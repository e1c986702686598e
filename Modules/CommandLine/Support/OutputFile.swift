import Crypto
import Foundation
import Glibc
import SallyportBase

/// The output for a body that is not downloaded into a file: standard output, a device, a pipe, or nothing.
final class OutputFile: Sendable {
    private enum Place {
        case nowhere
        case standardOutput(Int32)
        case file(WritableFile)
    }

    private let place: Place

    /// `-` is standard output; nil is nowhere. Waits for the reader of a FIFO.
    init(_ path: String?) throws(CommandFailure) {
        place =
            switch path {
            case nil: .nowhere
            case "-"?: .standardOutput(Workplace.current.output)
            case let path?: .file(try Self.opened(path))
            }
    }

    /// A path of a descriptor of this process, such as `/dev/stdout`, is that descriptor. Opened by its path, a file would
    /// be written from its beginning, over what the shell or this process has written to it.
    private static func opened(_ path: String) throws(CommandFailure) -> WritableFile {
        let place = try Workplace.current.path(path)
        do throws(WritableFile.Failure) {
            if let descriptor = ProcessPath.descriptor(of: place) { return try WritableFile(copyOf: descriptor) }
            return try WritableFile(place)
        } catch {
            throw failure(path, error.number)
        }
    }

    func write(_ bytes: [UInt8]) throws(CommandFailure) {
        switch place {
        case .nowhere: return
        case .standardOutput(let number):
            guard StandardStreams.write(bytes, to: number) else { throw Self.unwritten(errno) }
        case .file(let file):
            do throws(WritableFile.Failure) {
                try file.write(bytes)
            } catch {
                throw Self.unwritten(error.number)
            }
        }
    }

    static func unwritten(_ number: Int32) -> CommandFailure {
        CommandFailure(.inputOutput, name: "file", "The output cannot be written: \(SystemText.of(number)).")
    }

    /// Whether a whole file may be put in the place of what is there: a device, a pipe and a descriptor of this process,
    /// such as `/dev/stdout`, are written to instead, and `-` is standard output.
    static func canBeReplaced(_ path: String) throws(CommandFailure) -> Bool {
        guard path != "-" else { return false }
        let place = try Workplace.current.path(path)
        guard ProcessPath.descriptor(of: place) == nil else { return false }
        let real = URL(filePath: place).resolvingSymlinksInPath().path
        let attributes = try? FileManager.default.attributesOfItem(atPath: real)
        return attributes.map { $0[.type] as? FileAttributeType == .typeRegular } ?? true
    }

    /// The SHA-256 of a file, read in pieces.
    static func sum(of path: String) throws -> String {
        let place = try Workplace.current.path(path)
        let number = open(place, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { throw failure(path, errno) }
        defer { close(number) }
        var hash = SHA256()
        var chunk = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = chunk.withUnsafeMutableBytes { Glibc.read(number, $0.baseAddress, $0.count) }
            if count == 0 { return Hexadecimal.text(hash.finalize()) }
            guard count > 0 else {
                guard errno == EINTR else { throw failure(path, errno) }
                continue
            }
            chunk.withUnsafeBytes { hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
    }

    private static func failure(_ path: String, _ number: Int32) -> CommandFailure {
        CommandFailure(.inputOutput, name: "file", "\(path) cannot be opened: \(SystemText.of(number)).")
    }
}
