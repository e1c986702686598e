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
            try NewFile.write(
                credential.password.reveal() + "\n", to: path, mode: 0o600, ofSecret: "--credential-file")
            return credential
        }
        let bytes = try SecretFile.read(path, kind: "credential file", upTo: 4096)
        let text = String(decoding: bytes.prefix { $0 != 10 && $0 != 13 }, as: UTF8.self)
        do {
            return try DoorCredential(text)
        } catch {
            throw CommandFailure(
                .usage, name: "\(error.code)", "\(path) holds no credential of a door. \(error.message)",
                hint: "remove the file, and the next door makes a new one")
        }
    }
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
