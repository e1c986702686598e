extension FleetSchema {
    /// The audit trail: level 2.
    static let audit: [String] = [
        // Locked by each transaction that adds to the chain, as the last lock that it takes.
        "CREATE TABLE audit_chain (chain text PRIMARY KEY, n bigint NOT NULL, hash bytea NOT NULL)",
        "INSERT INTO audit_chain (chain, n, hash) VALUES ('administration', 0, decode(repeat('00', 32), 'hex'))",
        """
        CREATE TABLE audit_admin (
            n bigint PRIMARY KEY, at bigint NOT NULL, previous bytea NOT NULL, hash bytea NOT NULL, body bytea NOT NULL)
        """,
        """
        CREATE TABLE audit_access (
            gateway text NOT NULL, n bigint NOT NULL, at bigint NOT NULL, previous bytea NOT NULL, hash bytea NOT NULL,
            body bytea NOT NULL, PRIMARY KEY (gateway, n))
        """,
        "CREATE TABLE audit_checkpoint (n bigint PRIMARY KEY, body text NOT NULL)",
    ]
}
