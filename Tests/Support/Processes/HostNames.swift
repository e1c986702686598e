internal import Glibc

/// What names mean for the programs of a test, in the place of what they mean on this machine: no others are known, and no
/// server of names is asked. It takes root and mount namespaces.
package struct HostNames: Sendable {
    private static let script = """
        mount --bind "$1" /etc/hosts && mount --bind "$2" /etc/nsswitch.conf || exit 125
        shift 2
        exec "$@"
        """

    private let folder: TemporaryDirectory

    /// - Parameter lines: of hosts(5).
    package init(_ lines: [String]) throws {
        folder = try TemporaryDirectory()
        try folder.write(lines.map { $0 + "\n" }.joined(), to: "hosts")
        try folder.write("hosts: files\n", to: "nsswitch.conf")
    }

    /// Whether this process may make them.
    package static func isAllowed() async -> Bool {
        guard getuid() == 0, let names = try? HostNames([]) else { return false }
        return (try? await names.child("/bin/true", []).outcome().status) == 0
    }

    package func child(_ program: String, _ arguments: [String], input: String? = nil) throws -> ChildProcess {
        let files = [folder.file("hosts"), folder.file("nsswitch.conf")]
        return try ChildProcess(
            "/usr/bin/env", ["unshare", "--mount", "sh", "-c", Self.script, "sh"] + files + [program] + arguments,
            input: input)
    }
}
