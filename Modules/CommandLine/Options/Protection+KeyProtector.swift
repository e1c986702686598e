import Glibc
import SallyportSecureStore

extension Protection {
    /// The longest passphrase file that is read, in bytes.
    private static let passphraseLimit = 4096

    /// The protector that opens the store.
    func protector() throws(CommandFailure) -> any KeyProtector {
        switch self {
        case .keyFile(let path), .defaultKeyFile(let path): return .keyFile(path)
        case .systemdCredential(let name): return .systemdCredential(name)
        case .passphraseFile(let path):
            let line = InputFile.firstLine(of: try Self.passphrase(path))
            guard !line.isEmpty else { throw InputFile.isEmpty(path, "the passphrase") }
            return .passphrase(line)
        }
    }

    /// A passphrase file must have the same owner and mode as a key file; standard input is not checked.
    private static func passphrase(_ path: String) throws(CommandFailure) -> String {
        guard path != "-" else { return try InputFile.text(path, limit: passphraseLimit) }
        let content: [UInt8]
        do throws(StoreError) {
            content = try SecretFile.read(path, kind: "passphrase file", upTo: passphraseLimit)
        } catch {
            // If there is no such file, the path may be the passphrase itself, which the error would repeat.
            guard access(path, F_OK) != 0 else { throw CommandFailure(error) }
            let reason = SystemText.of(errno)
            throw CommandFailure(
                .inputOutput, name: "\(error.code)", "The file of --passphrase-file cannot be read: \(reason).")
        }
        guard let text = String(validating: content, as: UTF8.self) else {
            throw CommandFailure(.usage, name: "invalid", "\(path) is not UTF-8 text.")
        }
        return text
    }

    /// Warns that a default key protects little. Call it once the store is made.
    func warnIfDefault() {
        guard case .defaultKeyFile(let path) = self else { return }
        StandardStreams.error(Self.warning(for: path))
    }
}
