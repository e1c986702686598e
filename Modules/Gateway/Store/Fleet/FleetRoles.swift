internal import SallyportBase

/// The rights that roles of PostgreSQL need in a fleet's database, beside the owner of its tables, who alone may alter them.
package struct FleetRoles: Sendable {
    /// Of the gateways.
    package var control: String
    /// Reads the audit trail and nothing else; nil for none.
    package var auditor: String?
    /// In which the tables are.
    package var schema: String

    package init(control: String, auditor: String?, schema: String = "public") {
        (self.control, self.auditor, self.schema) = (control, auditor, schema)
    }

    /// What a gateway does with a table.
    private static let control: [(rights: String, tables: [String])] = [
        ("SELECT, UPDATE", ["fleet", "directory", "authority"]),
        ("SELECT, INSERT, UPDATE", ["instance", "relay", "audit_chain"]),
        ("SELECT, INSERT, UPDATE, DELETE", ["access_key", "gateway"]),
        ("SELECT, INSERT", ["audit_admin", "audit_access", "audit_checkpoint"]),
    ]
    private static let audit = ["audit_admin", "audit_access", "audit_chain", "audit_checkpoint", "audit_retention"]

    /// For the owner, who may run them again: a right that a role has already is no fault.
    package var statements: [String] {
        let (schema, control) = (Self.quoted(schema), Self.quoted(control))
        func names(_ tables: [String]) -> String { tables.map { "\(schema).\($0)" }.joined(separator: ", ") }
        var all = ["GRANT USAGE ON SCHEMA \(schema) TO \(control)"]
        all += Self.control.map { "GRANT \($0.rights) ON \(names($0.tables)) TO \(control)" }
        all.append("GRANT EXECUTE ON FUNCTION \(schema).audit_prune(text, bigint) TO \(control)")
        guard let auditor = auditor.map(Self.quoted) else { return all }
        return all + [
            "GRANT USAGE ON SCHEMA \(schema) TO \(auditor)", "GRANT SELECT ON \(names(Self.audit)) TO \(auditor)",
        ]
    }

    private static func quoted(_ name: String) -> String {
        "\"" + name.replacing(scalar: "\"", with: "\"\"") + "\""
    }
}
