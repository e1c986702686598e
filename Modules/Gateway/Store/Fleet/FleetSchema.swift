/// The tables of a fleet, and the steps that make them from those of earlier versions.
enum FleetSchema {
    /// What this version writes. A gateway changes nothing in a database of a higher level, which has records whose
    /// members it does not know.
    static let level = Int64(steps.count)

    /// The steps, by the level that each leads to.
    static let steps: [[String]] = [
        [
            """
            CREATE TABLE fleet (
                one boolean PRIMARY KEY DEFAULT true CHECK (one),
                id text NOT NULL, revision bigint NOT NULL, feature_level bigint NOT NULL)
            """,
            """
            CREATE TABLE directory (
                one boolean PRIMARY KEY DEFAULT true CHECK (one), revision bigint NOT NULL, body bytea NOT NULL)
            """,
            """
            CREATE TABLE authority (
                one boolean PRIMARY KEY DEFAULT true CHECK (one), revision bigint NOT NULL, body bytea NOT NULL)
            """,
            """
            CREATE TABLE instance (
                id text PRIMARY KEY, revision bigint NOT NULL, holder bytea NOT NULL, epoch bigint NOT NULL,
                last_seen bigint, body bytea NOT NULL)
            """,
            "CREATE INDEX instance_revision ON instance (revision)",
            "CREATE INDEX instance_holder ON instance (holder)",
            """
            CREATE TABLE access_key (
                digest bytea PRIMARY KEY, holder bytea NOT NULL, is_used boolean NOT NULL DEFAULT false,
                body bytea NOT NULL)
            """,
            "CREATE INDEX access_key_holder ON access_key (holder)",
        ],
        relays,
    ]
}
