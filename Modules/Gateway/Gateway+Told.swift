/// What apps are told, and act on by themselves. Every value is delivered in the signed configuration.
///
/// All throw ``GatewayError``, as the rest of the administration does.
extension Gateway {
    /// Sets the name by which a user is known to Kerberos or a directory service.
    ///
    /// - Parameters:
    ///   - name: `user@realm`, at most 1,024 bytes; nil if the user has none.
    ///   - user: the user's id.
    public func setUserPrincipalName(_ name: String?, of user: String) async throws(GatewayError) {
        try await done(.setPrincipalName(user: user, name))
    }

    /// Sets how much an application logs; it decides by itself what that means.
    ///
    /// - Parameters:
    ///   - entitlement: the application's identifier.
    ///   - detailed: whether detailed logs are on; if nil, it stays as it is.
    ///   - preventsUsers: whether users may not switch detailed logs on; if nil, it stays as it is.
    public func setLogs(
        of entitlement: String, detailed: Bool? = nil, preventsUsers: Bool? = nil
    ) async throws(GatewayError) {
        try await done(
            .setLogging(entitlement: entitlement, isDetailed: detailed, isKeptFromUsers: preventsUsers))
    }

    /// Sets further settings of an application.
    ///
    /// - Parameters:
    ///   - json: a JSON object as text, at most 64 KiB; nil for none.
    ///   - entitlement: the application's identifier.
    public func setExtraInfo(_ json: String?, of entitlement: String) async throws(GatewayError) {
        try await done(.setExtraInfo(entitlement: entitlement, json: json ?? ""))
    }

    /// Sets how long apps may work without contact to this gateway; 24 hours unless set.
    ///
    /// Running apps are told; one that is out of reach keeps the lease that it has.
    ///
    /// - Parameter minutes: 5 to 10,080, which is 7 days.
    public func setLease(minutes: Int) async throws(GatewayError) { try await done(.setLease("\(minutes)m")) }
}
