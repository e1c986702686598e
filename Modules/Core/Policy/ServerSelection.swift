/// The order in which equivalent servers are tried: by priority, and at random among equal priorities.
public enum ServerSelection {
    /// All of `servers`, each priority shuffled, priority 1 first.
    public static func order<Server>(
        _ servers: [Server], priority: (Server) -> Int, using generator: inout some RandomNumberGenerator
    ) -> [Server] {
        Dictionary(grouping: servers, by: priority)
            .sorted { $0.key < $1.key }
            .flatMap { $0.value.shuffled(using: &generator) }
    }
}
