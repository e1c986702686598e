/// What stands here for options of curl's that fetch does not have.
enum CurlHabits {
    private static let hints = [
        "-L": "redirects are followed without it; --no-redirect does not follow them",
        "--location": "redirects are followed without it; --no-redirect does not follow them",
        "-k": "servers are always verified; --ca FILE trusts a private authority",
        "--insecure": "servers are always verified; --ca FILE trusts a private authority",
        "-s": "progress is shown on a terminal only, and with -o; 2>/dev/null hides it",
        "--silent": "progress is shown on a terminal only, and with -o; 2>/dev/null hides it",
        "-I": "-X HEAD -i asks for the head alone",
        "--head": "-X HEAD -i asks for the head alone",
        "-u": "--user NAME asks for the password on the terminal, --password-file FILE reads it",
        "--cacert": "--ca FILE trusts the authorities of a PEM file besides the system's",
        "-x": "the administrator's policy says how a server is reached",
        "--proxy": "the administrator's policy says how a server is reached",
        "-f": "--fail ends with 22 if the status is 400 or above",
        "-O": "-o FILE names the file",
    ]

    /// The hint for the first option of curl's among the arguments of `fetch`.
    static func hint(for arguments: [String]) -> String? {
        guard arguments.first == "fetch" else { return nil }
        return arguments.prefix { $0 != "--" }.lazy.compactMap { hints[$0] }.first
    }
}
