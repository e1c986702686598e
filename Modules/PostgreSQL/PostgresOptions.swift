#if PostgreSQL
internal import Glibc
internal import SallyportCore
internal import SallyportGateway

/// Where a database is, and how to log in: what libpq reads from a URL or a text of `key=value` pairs, from a service
/// file and from the environment, with one entry for each host.
struct PostgresOptions: Sendable {
    /// One place where the database may be.
    struct Host: Sendable, Hashable {
        /// If the address is empty too, it is libpq's default: a Unix socket, or `localhost`.
        let name: String
        /// Empty if it is to be looked up.
        let address: String
        let port: String

        var isUnixSocket: Bool { address.isEmpty && (name.hasPrefix("/") || name.hasPrefix("@")) }

        /// Whether it is one host for as long as the gateway runs. A name may have several addresses, and others later.
        var isOneForGood: Bool {
            !address.isEmpty || name.isEmpty || isUnixSocket || name.contains("%") || IPAddress(name) != nil
        }

        /// For messages.
        var place: String {
            let host = name.isEmpty ? address : name
            return "\(host.isEmpty ? "libpq's default host" : host):\(port)"
        }
    }

    let hosts: [Host]
    /// Whether another host than the one that is used may become the primary.
    var haveOthers: Bool { hosts.count > 1 || !hosts.allSatisfy(\.isOneForGood) }
    /// Everything else, by keyword.
    let others: [String: String]
    /// The `sslmode` if none is given.
    private let defaultMode: String

    /// - Parameters:
    ///   - text: `postgresql://user@host1,host2:5433/database?sslmode=verify-full`, or `key=value` pairs.
    ///   - environment: the value of a variable.
    /// - Throws: `invalid`, without the text, which may contain a password; also if a service is not found.
    init(_ text: String, environment: (String) -> String? = Self.variable) throws(GatewayError) {
        var values = try LibpqSettings.parsed(text)
        hosts = try Self.hosts(LibpqSettings.completed(values))
        for keyword in LibpqSettings.places { values[keyword] = nil }
        // To libpq, an empty one is none.
        if values["sslmode"]?.isEmpty == true { values["sslmode"] = nil }
        others = values
        // By itself libpq would do without TLS if the server has none, and take any certificate. And it would prefer
        // what a service file says to the environment.
        let mode = environment("PGSSLMODE") ?? ""
        defaultMode = mode.isEmpty ? "verify-full" : mode
    }

    private static func variable(_ name: String) -> String? {
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }

    private static func hosts(_ settings: [String: String]) throws(GatewayError) -> [Host] {
        let (names, addresses) = (list(settings["host"]), list(settings["hostaddr"]))
        let ports = list(settings["port"])
        let count = max(names.count, addresses.count, 1)
        guard addresses.isEmpty || names.isEmpty || addresses.count == names.count,
            ports.count <= 1 || ports.count == count
        else {
            throw GatewayError(
                .invalid,
                "The database's URL, with the settings of a service file and of the environment, has not as many ports "
                    + "or addresses as hosts.")
        }
        return (0..<count).map { index in
            Host(
                name: index < names.count ? names[index] : "", address: index < addresses.count ? addresses[index] : "",
                port: ports.isEmpty ? port("") : port(ports[ports.count == 1 ? 0 : index]))
        }
    }

    private static func list(_ text: String?) -> [String] {
        guard let text, !text.isEmpty else { return [] }
        return text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }

    /// To libpq, an empty item in a list of ports is PostgreSQL's own port, whatever `PGPORT` says.
    private static func port(_ item: String) -> String { item.isEmpty ? "5432" : item }

    /// The keywords and values with which one host is dialled.
    func parameters(for host: Host, at address: String) -> [(keyword: String, value: String)] {
        var values = others
        values["host"] = host.name.isEmpty ? nil : host.name
        values["hostaddr"] = address.isEmpty ? nil : address
        values["port"] = host.port
        if !host.isUnixSocket { values["sslmode"] = values["sslmode"] ?? defaultMode }
        values["target_session_attrs"] = "read-write"
        values["application_name"] = values["application_name"] ?? "sallyport"
        values["client_encoding"] = "UTF8"
        // A peer that is gone is noticed by the system too, not only by the deadlines of statements.
        values["tcp_user_timeout"] = values["tcp_user_timeout"] ?? "3000"
        // Empty ones are kept in a text only. Without them, libpq would add all hosts or all addresses of a service file
        // or of the environment to this one host.
        let nothing = (keyword: "dbname", value: "host='' hostaddr=''")
        let parameters = values.sorted { $0.key < $1.key }.map { (keyword: $0.key, value: $0.value) }
        return [nothing] + parameters
    }
}
#endif
