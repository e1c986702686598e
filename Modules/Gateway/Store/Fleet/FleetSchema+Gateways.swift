extension FleetSchema {
    /// A row for each gateway, and the revision of the last change of one.
    static let gateways = [
        """
        CREATE TABLE gateway (
            id text PRIMARY KEY, role text NOT NULL, revision bigint NOT NULL, applied bigint NOT NULL,
            seen bigint NOT NULL, ended bigint, body bytea NOT NULL)
        """,
        "ALTER TABLE fleet ADD COLUMN gateways bigint NOT NULL DEFAULT 0",
    ]
}
