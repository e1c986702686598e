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

    /// The only way in which entries are removed: a role may call the function that has no right to delete. What it keeps
    /// at least, the owner decides in the table, by default what a gateway keeps. It counts rows that are there, which the
    /// caller can add to but not change, and not their numbers.
    static let auditPruning: [String] = [
        """
        CREATE TABLE audit_retention (
            one boolean PRIMARY KEY DEFAULT true CHECK (one), administration bigint NOT NULL, access bigint NOT NULL,
            access_age bigint NOT NULL)
        """,
        """
        INSERT INTO audit_retention (administration, access, access_age) VALUES (
            \(AuditRetention.standard.administration), \(AuditRetention.standard.access),
            \(AuditRetention.standard.accessAge))
        """,
        """
        CREATE FUNCTION audit_prune(of_gateway text, through bigint) RETURNS void LANGUAGE sql SECURITY DEFINER
        BEGIN ATOMIC
            DELETE FROM audit_checkpoint WHERE n < (SELECT max(n) FROM audit_checkpoint);
            DELETE FROM audit_admin WHERE of_gateway IS NULL AND n <= through AND n <= (
                SELECT n FROM audit_admin ORDER BY n DESC
                OFFSET (SELECT administration FROM audit_retention) LIMIT 1);
            DELETE FROM audit_access WHERE gateway = of_gateway AND n <= through AND (
                at < (extract(epoch FROM now()) * 1000)::bigint - (SELECT access_age FROM audit_retention)
                OR n <= (
                    SELECT n FROM audit_access WHERE gateway = of_gateway ORDER BY n DESC
                    OFFSET (SELECT access FROM audit_retention) LIMIT 1));
        END
        """,
        "REVOKE EXECUTE ON FUNCTION audit_prune(text, bigint) FROM PUBLIC",
    ]
}
