extension Apache {
    /// With mod_auth_gssapi: below `/vault/` it wants a ticket, below `/free/` nothing.
    ///
    /// - Parameters:
    ///   - keytab: of its names.
    ///   - address: where it listens too.
    package static func withNegotiate(
        keytab: String, of kdc: TestKDC, address: String? = nil, in network: NetworkNamespace? = nil
    ) async throws -> Apache {
        var environment = kdc.serviceEnvironment
        // Without a replay cache: its name would be shared with what ran here before.
        environment["KRB5RCACHENAME"] = "none:"
        return try await start(
            Settings(
                modules: ["auth_gssapi"], pages: ["vault", "free"], folders: ["delegated"], address: address,
                environment: environment, network: network
            ) { path in
                """
                LogLevel auth_gssapi:debug
                <Location /vault/>
                    AuthType GSSAPI
                    AuthName "the vault"
                    GssapiCredStore keytab:\(keytab)
                    GssapiAllowedMech krb5
                    GssapiDelegCcacheDir \(path)/delegated
                    Require valid-user
                </Location>
                """
            })
    }

    /// Whether a client delegated a ticket to it.
    package var hasDelegated: Bool { !names(in: "delegated").isEmpty }
}
