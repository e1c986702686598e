#if PostgreSQL
internal import CPQ
internal import SallyportGateway

/// Settings of a connection as libpq reads them, by keyword.
enum LibpqSettings {
    /// Where a database is.
    static let places = ["host", "hostaddr", "port"]

    /// What a URL or a text of `key=value` pairs says by itself.
    ///
    /// - Throws: `invalid`, without the text, which may contain a password.
    static func parsed(_ text: String) throws(GatewayError) -> [String: String] {
        var message: UnsafeMutablePointer<CChar>?
        defer { unsafe PQfreemem(message) }
        guard let list = unsafe PQconninfoParse(text, &message) else {
            throw GatewayError(
                .invalid,
                "This is not the URL of a database: postgresql://USER@HOST/DATABASE?sslmode=verify-full is expected.")
        }
        defer { unsafe PQconninfoFree(list) }
        return unsafe values(list)
    }

    /// The ``places`` of these settings. What is not given comes from a service file, the environment, or libpq.
    ///
    /// - Throws: `invalid` if libpq does not find the service, or cannot read its file.
    static func completed(_ given: [String: String]) throws(GatewayError) -> [String: String] {
        var settings = given.filter { places.contains($0.key) || $0.key == "service" }
        // libpq reads a service file for a connection only. It refuses this one after that, before it dials.
        let (keyword, value) = ("channel_binding", "no dial")
        settings[keyword] = value
        guard let handle = unsafe PostgresConnection.start(settings.map { (keyword: $0.key, value: $0.value) }) else {
            throw GatewayError(.invalid, "libpq has no memory for a connection.")
        }
        defer { unsafe PQfinish(handle) }
        guard let list = unsafe PQconninfo(handle) else {
            throw GatewayError(.invalid, "libpq has no memory for a connection.")
        }
        defer { unsafe PQconninfoFree(list) }
        let completed = unsafe values(list)
        // Without a value of its own, the connection has got no settings at all.
        guard completed[keyword] == value else {
            let reason = unsafe PostgresConnection.reason(of: handle)
            throw GatewayError(.invalid, "The settings of the database cannot be read: \(reason)")
        }
        return completed.filter { places.contains($0.key) }
    }

    private static func values(_ list: UnsafeMutablePointer<PQconninfoOption>) -> [String: String] {
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
}
#endif
