extension ConfigurationDocument {
    /// The members that do not depend on the instance, as JSON.
    ///
    /// They make up nearly all of a configuration. They are encoded once for a policy, and then used in every
    /// configuration that is signed under it.
    package struct SharedMembers: Sendable {
        fileprivate let members: [Member]
    }

    fileprivate struct Member: Sendable {
        let name: String
        let json: [UInt8]

        init(_ name: String, _ value: some Encodable) throws(WireError) {
            self.name = name
            json = try WireJSON.encode(value)
        }

        /// In the text, with quotation marks, colon and comma.
        var length: Int { json.count + name.utf8.count + 4 }
    }

    /// This configuration's members that do not depend on the instance, with every limit and range checked.
    package func sharedMembers() throws(WireError) -> SharedMembers {
        try checkRanges()
        try checkCounts()
        return SharedMembers(members: try encodedShared())
    }

    /// How many bytes the members that do not depend on the instance take in the payload, beyond the limits or not.
    package func sharedLength() throws(WireError) -> Int { try encodedShared().reduce(0) { $0 + $1.length } }

    private func encodedShared() throws(WireError) -> [Member] {
        var members = [
            try Member("application", application), try Member("clusters", clusters),
            try Member("defaultRoute", defaultRoute),
            try Member("deniedNetworks", deniedNetworks), try Member("domains", domains), try Member("policy", policy),
            try Member("realms", realms), try Member("schemes", schemes), try Member("servers", servers),
            try Member("tls", tls),
        ]
        if let defaultDomains { members.append(try Member("defaultDomains", defaultDomains)) }
        if let gateways { members.append(try Member("gateways", gateways)) }
        return members
    }

    /// The payload of a JWS: this configuration's own members, and the others from `shared`. The same bytes as
    /// ``serialized()`` returns for a configuration that has all of them.
    package func serialized(with shared: SharedMembers) throws(WireError) -> [UInt8] {
        try checkRanges()
        try checkCounts()
        let own = [
            try Member("aud", aud), try Member("code", code), try Member("entitlement", entitlement),
            try Member("entitlements", entitlements), try Member("epoch", epoch), try Member("iat", iat),
            try Member("leaseEnd", leaseEnd), try Member("status", status), try Member("trust", trust),
            try Member("user", user),
        ]
        var text: [UInt8] = []
        text.reserveCapacity((own + shared.members).reduce(2) { $0 + $1.length })
        text.append(UInt8(ascii: "{"))
        for (index, member) in (own + shared.members).sorted(by: { $0.name < $1.name }).enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            text += "\"\(member.name)\":".utf8
            text += member.json
        }
        text.append(UInt8(ascii: "}"))
        return try Self.checkedLength(of: text)
    }
}
