extension FleetSchema {
    /// The relays on machines of their own. The table is empty until there is one.
    static let relays = [
        """
        CREATE TABLE relay (
            one boolean PRIMARY KEY DEFAULT true CHECK (one), revision bigint NOT NULL, body bytea NOT NULL)
        """
    ]
}
