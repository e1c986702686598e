import FoundationEssentials
import SallyportSecureStore

extension Protection {
    /// The longest passphrase file that is read, in octets.
    private static let passphraseLimit = 4096

    /// What opens the store.
    func protector() throws(CommandFailure) -> any KeyProtector {
        switch self {
        case .keyFile(let path), .defaultKeyFile(let path): return .keyFile(path)
        case .systemdCredential(let name): return .systemdCredential(name)
        case .passphraseFile(let path):
            let text = try InputFile.text(path, limit: Self.passphraseLimit)
            let line = text.split(separator: "\n", omittingEmptySubsequences: false)[0]
            guard !line.isEmpty else {
                throw CommandFailure(.usage, name: "invalid", "The first line of \(path) is empty.")
            }
            return .passphrase(String(line))
        }
    }

    /// Says that a default key protects little, where it is about to be made. Call before the store is opened.
    func warnIfNew() {
        guard case .defaultKeyFile(let path) = self, !FileManager.default.fileExists(atPath: path) else { return }
        StandardStreams.error(Self.warning(for: path))
    }
}
