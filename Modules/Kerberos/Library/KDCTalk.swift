internal import CKerberos
internal import SallyportCore

/// An exchange of messages with KDCs that ends with a ticket. Without I/O. It has its own context.
@safe
final class KDCTalk: @unchecked Sendable {
    // SAFETY: one task has it at a time, and waits for the end of each step, on whatever thread that runs. A task that
    // gives up the wait does not use it again, so that the step alone does until it ends.
    enum Step: Sendable {
        case send([UInt8], realm: String)
        case done
    }

    private let context: KerberosContext
    private let handle: OpaquePointer
    /// Whether a step may take long: the KDC says how often a password is hashed for its key (RFC 3962 §4). libkrb5
    /// does it up to 2²⁴ times, which takes half a minute, and cannot be stopped.
    let hashesPassword: Bool

    private init(
        _ context: KerberosContext, hashesPassword: Bool, _ begin: (inout OpaquePointer?) -> Int32
    ) throws(KerberosError) {
        var made: OpaquePointer?
        try context.check(unsafe begin(&made))
        guard let made = unsafe made else { throw KerberosError(.other, "krb5 began nothing.") }
        self.context = context
        self.hashesPassword = hashesPassword
        unsafe handle = made
    }

    deinit { unsafe sk_talk_free(handle) }

    /// Requests a ticket-granting ticket (RFC 4120 §3.1).
    static func signIn(
        _ user: KerberosUser, with secret: SignInSecret, isForwardable: Bool
    ) throws(KerberosError) -> KDCTalk {
        let context = try KerberosContext()
        return try unsafe KDCTalk(context, hashesPassword: secret.isPassword) { made in
            unsafe user.krb5Name.withCString { name in
                unsafe secret.withCString { text in
                    var who = unsafe sk_sign_in(
                        client: name, password: secret.isPassword ? text : nil,
                        keytab: secret.isPassword ? nil : text, forwardable: isForwardable ? 1 : 0)
                    return unsafe sk_talk_sign_in(context.handle, &who, &made)
                }
            }
        }
    }

    /// Requests a ticket for a service (§3.3).
    static func ask(for service: ServiceName, with granting: Ticket) throws(KerberosError) -> KDCTalk {
        let context = try KerberosContext(offset: granting.offset)
        return try unsafe KDCTalk(context, hashesPassword: false) { made in
            unsafe sk_talk_ask(context.handle, granting.handle, service.service, service.host, &made)
        }
    }

    /// - Parameter answer: a KDC's answer; empty at first.
    func step(_ answer: [UInt8]) throws(KerberosError) -> Step {
        var (message, realm, isDone) = unsafe (sk_bytes(), sk_bytes(), Int32(0))
        let code = unsafe answer.withUnsafeBufferPointer { answer in
            unsafe sk_talk_step(handle, answer.baseAddress, answer.count, &message, &realm, &isDone)
        }
        defer {
            unsafe sk_bytes_free(&message)
            unsafe sk_bytes_free(&realm)
        }
        try context.check(code)
        return isDone != 0 ? .done : unsafe .send(message.take(), realm: realm.takeText())
    }

    func ticket() throws(KerberosError) -> Ticket {
        var made: OpaquePointer?
        try context.check(unsafe sk_talk_ticket(handle, &made))
        guard let made = unsafe made else { throw KerberosError(.other, "krb5 made no ticket.") }
        return unsafe Ticket(made, offset: context.offset)
    }
}

/// How a user proves their identity.
enum SignInSecret: Sendable, Hashable {
    case password(Password)
    /// The path of a file, read each time.
    case keytab(String)

    var isPassword: Bool { if case .password = self { true } else { false } }

    /// Passes the password, or the path, to krb5.
    func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
        switch self {
        case .password(let password): unsafe password.withCString(body)
        case .keytab(let path): unsafe path.withCString(body)
        }
    }
}

/// A service on a host, for which a ticket is issued.
struct ServiceName: Sendable, Hashable, CustomStringConvertible {
    let service: String
    let host: String

    /// RFC 4559 §4.1.
    static func http(_ host: Host) -> ServiceName { ServiceName(service: "HTTP", host: host.bareText) }

    var description: String { "\(service)/\(host)" }
}
