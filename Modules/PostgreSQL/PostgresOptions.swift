#if PostgreSQL
internal import CPQ
internal import Glibc
internal import SallyportCore
internal import SallyportGateway

/// Where a database is, and how to log in: what libpq reads from a URL or a text of `key=value` pairs, with one entry
/// for each host.
struct PostgresOptions: Sendable {
    /// One place where the database may be.
    struct Host: Sendable, Hashable {
        let name: String
        /// Empty if it is to be looked up.
        let address: String
        /// Empty if none is given: then libpq takes that of the service file or of `PGPORT`, as it takes the host.
        let port: String

        var isUnixSocket: Bool { address.isEmpty && (name.hasPrefix("/") || name.hasPrefix("@")) }

        /// Whether it is one host for as long as the gateway runs. A name may have several addresses, and others later;
        /// what the environment names is not known here.
        var isOneForGood: Bool {
            !address.isEmpty || isUnixSocket || name.contains("%") || IPAddress(name) != nil
        }

        /// For messages.
        var place: String {
            let host = name.isEmpty ? address : name
            return (host.isEmpty ? "libpq's default host" : host) + (port.isEmpty ? "" : ":\(port)")
        }
    }

    let hosts: [Host]
    /// Whether another host than the one that is used may become the primary.
    var haveOthers: Bool { hosts.count > 1 || !hosts.allSatisfy(\.isOneForGood) }
    /// Everything else, by keyword.
    let others: [String: String]
    /// The `sslmode` where none is given; nil if the environment has one.
    private let defaultMode: String?

    /// - Parameters:
    ///   - text: `postgresql://user@host1,host2:5433/database?sslmode=verify-full`, or `key=value` pairs.
    ///   - environment: the value of a variable.
    /// - Throws: `invalid`, without the text, which may contain a password.
    init(_ text: String, environment: (String) -> String? = Self.variable) throws(GatewayError) {
        var values = try Self.parsed(text)
        let names = Self.list(values.removeValue(forKey: "host"))
        let addresses = Self.list(values.removeValue(forKey: "hostaddr"))
        let ports = Self.list(values.removeValue(forKey: "port"))
        let count = max(names.count, addresses.count, 1)
        guard addresses.isEmpty || names.isEmpty || addresses.count == names.count,
            ports.count <= 1 || ports.count == count
        else {
            throw GatewayError(.invalid, "The database's URL has not as many ports or addresses as hosts.")
        }
        hosts = (0..<count).map { index in
            Host(
                name: index < names.count ? names[index] : "", address: index < addresses.count ? addresses[index] : "",
                port: ports.isEmpty ? "" : Self.port(ports[ports.count == 1 ? 0 : index]))
        }
        // To libpq, an empty one is none.
        if values["sslmode"]?.isEmpty == true { values["sslmode"] = nil }
        others = values
        // By itself libpq would do without TLS where the server has none, and take any certificate.
        defaultMode = environment("PGSSLMODE")?.isEmpty ?? true ? "verify-full" : nil
    }

    private static func variable(_ name: String) -> String? {
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }

    private static func list(_ text: String?) -> [String] {
        guard let text, !text.isEmpty else { return [] }
        return text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }

    /// To libpq, an empty item in a list of ports is PostgreSQL's own port, whatever `PGPORT` says.
    private static func port(_ item: String) -> String { item.isEmpty ? "5432" : item }

    private static func parsed(_ text: String) throws(GatewayError) -> [String: String] {
        var message: UnsafeMutablePointer<CChar>?
        defer { unsafe PQfreemem(message) }
        guard let list = unsafe PQconninfoParse(text, &message) else {
            throw GatewayError(
                .invalid,
                "This is not the URL of a database: postgresql://USER@HOST/DATABASE?sslmode=verify-full is expected.")
        }
        defer { unsafe PQconninfoFree(list) }
        var values: [String: String] = [:]
        var option = unsafe list
        while let keyword = unsafe option.pointee.keyword {
            if let value = unsafe option.pointee.val {
                unsafe values[String(cString: keyword)] = unsafe String(cString: value)
            }
            unsafe option += 1
        }
        return values
    }

    /// The keywords and values with which one host is dialled.
    func parameters(for host: Host, at address: String) -> [(keyword: String, value: String)] {
        var values = others
        values["host"] = host.name.isEmpty ? nil : host.name
        values["hostaddr"] = address.isEmpty ? nil : address
        values["port"] = host.port.isEmpty ? nil : host.port
        // A host that is not given is the environment's, which may be on another machine.
        if !host.isUnixSocket { values["sslmode"] = values["sslmode"] ?? defaultMode }
        values["target_session_attrs"] = "read-write"
        values["application_name"] = values["application_name"] ?? "sallyport"
        values["client_encoding"] = "UTF8"
        // A peer that is gone is noticed by the system too, not only by the deadlines of statements.
        values["tcp_user_timeout"] = values["tcp_user_timeout"] ?? "3000"
        return values.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}
#endif
