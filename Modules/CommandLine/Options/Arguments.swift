import ArgumentParser
import SallyportCore

/// Reads an argument, and says what is expected of one that is not valid.
func expecting<Value: ExpressibleByArgument>(_ form: String) -> @Sendable (String) throws -> Value {
    { text in
        guard let value = Value(argument: text) else { throw ValidationError("\(form) is expected.") }
        return value
    }
}

extension RequestURL {
    /// - Parameter name: of the argument, for an error, which does not repeat the text: it may contain a password.
    static func argument(_ text: String, _ name: String = "The URL") throws(CommandFailure) -> RequestURL {
        do throws(AddressError) {
            return try RequestURL(text)
        } catch {
            throw CommandFailure(.usage, name: "invalidAddress", "\(name) is not valid: \(error.message)")
        }
    }
}

/// A length of time in seconds, at least one.
struct SecondsArgument: ExpressibleByArgument, Sendable, Hashable {
    static let expected = "A whole number of seconds, at least 1,"
    let count: Int

    var duration: Duration { .seconds(count) }
}

extension SecondsArgument {
    init?(argument: String) {
        guard let count = Int(argument), count >= 1 else { return nil }
        self.init(count: count)
    }
}

/// HOST:PORT as an argument.
struct EndpointArgument: ExpressibleByArgument, Sendable, Hashable {
    let endpoint: Endpoint

    init?(argument: String) {
        guard let endpoint = try? Endpoint(argument) else { return nil }
        self.endpoint = endpoint
    }
}

/// HOST:PORT to bind, where port 0 means any free one.
struct BindArgument: ExpressibleByArgument, Sendable, Hashable {
    let host: String
    let port: UInt16

    init?(argument: String) {
        guard let colon = argument.lastIndex(of: ":"), let port = UInt16(argument[argument.index(after: colon)...]),
            let host = try? Host(String(argument[..<colon]))
        else { return nil }
        self.host = host.bareText
        self.port = port
    }
}

/// `relay`, `relay:CLUSTER`, `direct` or `deny`.
struct RouteArgument: ExpressibleByArgument, Sendable, Hashable {
    let route: Route

    init?(argument: String) {
        guard let route = Route(argument) else { return nil }
        self.route = route
    }

    static let relay = RouteArgument(route: .relay)
    private init(route: Route) { self.route = route }
    var defaultValueDescription: String { route.description }
    static var allValueStrings: [String] { ["relay", "relay:CLUSTER", "direct", "deny"] }
}

/// Ports separated by commas.
struct PortList: ExpressibleByArgument, Sendable, Hashable {
    let ports: [UInt16]

    init?(argument: String) {
        let parts = argument.split(separator: ",", omittingEmptySubsequences: false)
        let ports = parts.compactMap { UInt16($0) }.filter { $0 > 0 }
        guard !ports.isEmpty, ports.count == parts.count, ports.count <= 1024 else { return nil }
        self.ports = ports
    }
}

/// HOST:PORT with an optional priority: `relay.example:17533,2`.
struct RelayArgument: ExpressibleByArgument, Sendable, Hashable {
    let endpoint: Endpoint
    let priority: Int

    init?(argument: String) {
        let parts = argument.split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false)
        guard let endpoint = try? Endpoint(String(parts[0])) else { return nil }
        guard let priority = parts.count == 2 ? Int(parts[1]) : 1, (1...1000).contains(priority) else { return nil }
        self.endpoint = endpoint
        self.priority = priority
    }
}

/// `tls1.0` to `tls1.3`, with or without `tls`.
struct TLSVersionArgument: ExpressibleByArgument, Sendable, Hashable {
    let version: TLSVersion

    init?(argument: String) {
        let number = argument.lowercased().replacing("tls", with: "").replacing("v", with: "")
        guard let version = TLSVersion.allCases.first(where: { "\($0)".hasSuffix(number) && number.utf8.count == 3 })
        else {
            return nil
        }
        self.version = version
    }

    static var allValueStrings: [String] { TLSVersion.allCases.map { "\($0)" } }
}

extension BindArgument {
    init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }
}
