import ArgumentParser
import Foundation
import SallyportBase

/// The stanza of ssh's configuration that leads to hosts inside.
struct SSHConfigCommand: ParsableCommand, CheckedArguments {
    static let configuration = CommandConfiguration(
        commandName: "ssh-config", abstract: "Print the stanza for ~/.ssh/config that leads to these hosts.",
        discussion: "As in: sallyport ssh-config '*.corp.example' --store DIR >> ~/.ssh/config")
    @Argument(help: ArgumentHelp("Patterns of hosts, as ssh_config(5) has them.", valueName: "host")) var hosts:
        [String]
    @OptionGroup var location: StoreLocationOptions

    func check() throws {
        for host in hosts {
            let isPattern =
                !host.isEmpty
                && host.utf8.allSatisfy { byte in
                    (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
                        || "-_.*?!:".utf8.contains(byte)
                }
            guard isPattern else {
                throw ValidationError("A pattern of hosts has letters, digits and -_.*?!: only; '\(host)' has others.")
            }
        }
        let protector = location.protector
        let files = [protector.keyFile, protector.passphraseFile].compactMap(\.self)
        guard protector.passphraseFile != "-", !files.contains(where: ProcessPath.contains) else {
            throw ValidationError(
                "The store's key is in a file here, neither in - nor in a descriptor: ssh needs standard input itself.")
        }
    }

    func run() throws { StandardStreams.output(stanza(program: Self.program)) }

    func stanza(program: String) -> String {
        let folder = URL(filePath: location.store).standardizedFileURL.path
        let path = folder.hasSuffix("/") ? String(folder.dropLast()) : folder
        let options = (["--store", path] + location.protector.arguments).map(Self.quoted).joined(separator: " ")
        return """
            Host \(hosts.joined(separator: " "))
                ProxyCommand \(Self.quoted(program)) connect %h:%p \(options)
            """
    }

    private static var program: String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? "sallyport"
    }

    /// For the shell that ssh starts; `%` is ssh's own.
    static func quoted(_ text: String) -> String {
        let text = text.replacing(scalar: "%", with: "%%")
        let isPlain = text.utf8.allSatisfy { byte in
            (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
                || "-_./+%".utf8.contains(byte)
        }
        return isPlain ? text : "'" + text.replacing(scalar: "'", with: "'\\''") + "'"
    }
}
