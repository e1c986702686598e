/// The order in which equivalent servers are tried: by priority, and at random among equal priorities.
public enum ServerSelection {
    /// All of `servers`, each priority shuffled, priority 1 first.
    ///
    /// - Parameters:
    ///   - servers: in any order.
    ///   - priority: of a server; 1 is tried first.
    ///   - shuffle: puts servers of one priority into an order; by the system's random numbers by default.
    public static func order<Server>(
        _ servers: [Server], priority: (Server) -> Int, shuffle: ([Server]) -> [Server] = { $0.shuffled() }
    ) -> [Server] {
        Dictionary(grouping: servers, by: priority)
            .sorted { $0.key < $1.key }
            .flatMap { shuffle($0.value) }
    }
}
