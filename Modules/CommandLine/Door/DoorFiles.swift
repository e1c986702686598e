import Foundation
import Glibc
import SallyportBase
import SallyportDoor
import SallyportSecureStore

/// The file of a door's credential.
enum CredentialFile {
    /// Reads it; makes it if it is not there.
    static func credential(_ path: String) throws -> DoorCredential {
        guard FileManager.default.fileExists(atPath: path) else {
            let credential = DoorCredential()
            try NewFile.write(credential.password.reveal() + "\n", to: path, mode: 0o600)
            return credential
        }
        let bytes = try SecretFile.read(path, kind: "credential file", upTo: 4096)
        let text = String(decoding: bytes.prefix { $0 != 10 && $0 != 13 }, as: UTF8.self)
        return try DoorCredential(text)
    }
}

/// A file of records, a line each.
final class RecordFile: Sendable {
    private let number: Int32

    init(_ path: String) throws(CommandFailure) {
        number = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard number >= 0 else {
            throw CommandFailure(.inputOutput, name: "file", "\(path) cannot be written: \(SystemText.of(errno)).")
        }
    }

    deinit { close(number) }

    func append(_ line: String) { StandardStreams.write(Array((line + "\n").utf8), to: number) }
}

/// The sockets that systemd passes (sd_listen_fds(3)).
enum PassedSockets {
    /// Takes them; another call has none. None if they were passed to another process.
    static func take() -> [DoorPlace] {
        let environment = ProcessInfo.processInfo.environment
        guard environment["LISTEN_PID"] == "\(getpid())", let count = environment["LISTEN_FDS"].flatMap(Int32.init),
            (1...64).contains(count)
        else { return [] }
        unsetenv("LISTEN_PID")
        unsetenv("LISTEN_FDS")
        return (3..<(3 + count)).map { .descriptor($0) }
    }
}
