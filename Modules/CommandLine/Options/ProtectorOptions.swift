import ArgumentParser

/// How the keys of a store are protected.
struct ProtectorOptions: CheckedArguments {
    @Option(name: .customLong("key-file"), help: "A file with the store's key. Default: DIR/key.")
    var keyFile: String?

    @Option(name: .customLong("passphrase-file"), help: "A file whose first line is the store's passphrase.")
    var passphraseFile: String?

    @Option(name: .customLong("systemd-credential"), help: "The name of a systemd credential that is the key.")
    var systemdCredential: String?

    func check() throws {
        guard [keyFile, passphraseFile, systemdCredential].compactMap({ $0 }).count <= 1 else {
            throw ValidationError("Give one of --key-file, --passphrase-file and --systemd-credential.")
        }
    }

    /// How the keys of the store in a directory are protected.
    func protection(of directory: String) -> Protection {
        if let keyFile { return .keyFile(keyFile) }
        if let passphraseFile { return .passphraseFile(passphraseFile) }
        if let systemdCredential { return .systemdCredential(systemdCredential) }
        return .defaultKeyFile(DirectoryPath.appending("key", to: directory))
    }

    /// The same options for a command that is given in whatever folder.
    var arguments: [String] {
        if let keyFile { return ["--key-file", ProcessPath.absolute(keyFile)] }
        if let passphraseFile { return ["--passphrase-file", ProcessPath.absolute(passphraseFile)] }
        if let systemdCredential { return ["--systemd-credential", systemdCredential] }
        return []
    }
}

/// The source of a store's key.
enum Protection: Sendable, Hashable {
    case keyFile(String)
    case passphraseFile(String)
    case systemdCredential(String)
    /// Beside the data, created with the store.
    case defaultKeyFile(String)

    /// Printed when a store with the default key is made.
    static func warning(for path: String) -> String {
        """
        warning: the store's key lies beside it, in \(path): it protects nothing against a copy of the directory; \
        use --key-file, --passphrase-file or --systemd-credential for that
        """
    }
}

enum DirectoryPath {
    static func appending(_ name: String, to directory: String) -> String {
        directory.hasSuffix("/") ? directory + name : directory + "/" + name
    }
}
