internal import CKerberos
internal import SallyportCore

/// Keytabs and credential caches, at paths that the app names.
enum HostFiles {
    /// The most tickets that are read.
    private static let limit = 256

    static func user(ofKeytab path: String) throws(KerberosError) -> KerberosUser {
        let context = try KerberosContext()
        var name = unsafe sk_bytes()
        let code = unsafe sk_keytab_client(context.handle, path, &name)
        guard code == 0 else {
            throw KerberosError(.keytab, "The keytab cannot be read: \(context.error(code).message)")
        }
        guard let user = KerberosUser(krb5Name: unsafe name.takeText()) else {
            throw KerberosError(.keytab, "The keytab's first entry does not name a user.")
        }
        return user
    }

    /// The ticket-granting ticket of the client's own realm that is valid the longest.
    static func granting(ofCache path: String) throws(KerberosError) -> (KerberosUser, Ticket) {
        let context = try KerberosContext()
        let found = try tickets(ofCache: path, context).filter(\.isGranting)
        for ticket in found.sorted(by: { $0.ends > $1.ends }) {
            guard let user = try KerberosUser(krb5Name: ticket.client(context)),
                try ticket.server(context) == "krbtgt/\(user.realm)@\(user.realm)"
            else { continue }
            return (user, ticket)
        }
        throw KerberosError(.credentialCache, "The credential cache has no ticket-granting ticket.")
    }

    private static func tickets(
        ofCache path: String, _ context: KerberosContext
    ) throws(KerberosError) -> [Ticket] {
        let (code, tickets) = unsafe withUnsafeTemporaryAllocation(of: OpaquePointer?.self, capacity: limit) { list in
            unsafe list.initialize(repeating: nil)
            guard let start = list.baseAddress else { return (Int32(0), [Ticket]()) }
            var count = 0
            let code = unsafe sk_cache_read(context.handle, path, start, limit, &count)
            let tickets = (0..<count).compactMap { index in unsafe list[index].map { unsafe Ticket($0, offset: 0) } }
            return (code, tickets)
        }
        guard code == 0 else {
            throw KerberosError(.credentialCache, "The cache cannot be read: \(context.error(code).message)")
        }
        return tickets
    }
}
