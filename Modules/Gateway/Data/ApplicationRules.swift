internal import SallyportCore

/// What the directory says of one app's servers: their routes, and the addresses that the administrator has set.
///
/// An address that is set opens what the relay otherwise refuses, such as loopback, so it holds for the app for whose
/// server it was set, and for no other.
struct ApplicationRules: Sendable {
    let table: RoutingTable
    private let addresses: [Endpoint: IPAddress]
    /// A name may be listed with several ports; a look-up, which has none, is answered by the lowest.
    private let names: [SallyportCore.Host: IPAddress]

    init(of application: String, in directory: Directory) {
        table = directory.routingTable(for: application)
        var listed: [Endpoint: IPAddress] = [:]
        for server in directory.servers(for: application) {
            if let endpoint = try? Endpoint(server.endpoint) {
                listed[endpoint] = server.address.flatMap(IPAddress.init)
            }
        }
        addresses = listed
        let ordered = listed.sorted { $0.key.port < $1.key.port }
        names = Dictionary(ordered.map { ($0.key.host, $0.value) }) { first, _ in first }
    }

    /// The address that is set for a server; nil if it is to be looked up.
    func address(of endpoint: Endpoint) -> IPAddress? { addresses[endpoint] }

    /// The address that is set for a name, with any port.
    func address(of host: SallyportCore.Host) -> IPAddress? { names[host] }
}
