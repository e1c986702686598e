import SallyportDoor

/// The environment by which programs find a door. Names in lower and upper case, since each program reads others.
struct DoorEnvironment: Sendable {
    /// In their order.
    let variables: [(name: String, value: String)]

    /// - Parameter authorities: the absolute path of a file of certificates that the programs are to trust; they need it
    ///   only for servers whose certificates the system does not trust.
    /// - Returns: nil if the door has no place of TCP that is not a forwarded one.
    init?(_ places: [DoorPlace], authorities: String? = nil) {
        let place = places.first { if case .tcp = $0 { true } else { false } }
        guard let place else { return nil }
        self.init(proxy: "\(place)", authorities: authorities)
    }

    init(proxy place: String, authorities: String? = nil) {
        let http = "http://\(place)"
        // Names are handed over: what is looked up here may not exist here.
        let socks = "socks5h://\(place)"
        var variables = [
            ("http_proxy", http), ("https_proxy", http), ("HTTP_PROXY", http), ("HTTPS_PROXY", http),
            ("all_proxy", socks), ("ALL_PROXY", socks), ("no_proxy", ""), ("NO_PROXY", ""),
            ("SALLYPORT_DOOR", place),
        ]
        if let authorities {
            variables += ["SSL_CERT_FILE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "REQUESTS_CA_BUNDLE", "PIP_CERT"]
                .map { ($0, authorities) }
            variables.append(("NODE_EXTRA_CA_CERTS", authorities))
        }
        self.variables = variables
    }

    static let noPlace = CommandFailure(
        .unavailable, name: "noDoor",
        "The open door listens on no TCP port, which is what programs find in their environment.",
        hint: "open it with --listen 127.0.0.1:0 too")

    func text(for shell: ShellArgument) -> String {
        switch shell {
        case .sh: variables.map { "export \($0.name)='\($0.value)'" }.joined(separator: "\n")
        case .fish: variables.map { "set -gx \($0.name) '\($0.value)'" }.joined(separator: "\n")
        case .json: JSONOutput.text(Dictionary(uniqueKeysWithValues: variables.map { ($0.name, $0.value) }))
        }
    }
}
