internal import CKerberos

/// One AP-REQ (RFC 4120 §3.2), and the check of the service's answer.
///
/// Must not be shared by tasks: an actor owns it.
@safe
final class ServiceProof {
    private let context: KerberosContext
    private let handle: OpaquePointer
    /// DER.
    let request: [UInt8]

    /// - Parameters:
    ///   - binding: the channel bindings as bytes (RFC 4121 §4.1.1.2).
    ///   - delegated: a forwarded ticket-granting ticket that the service gets.
    init(_ ticket: Ticket, binding: [UInt8]?, delegated: Ticket?) throws(KerberosError) {
        let context = try KerberosContext(offset: ticket.offset)
        var (request, made): (sk_bytes, OpaquePointer?) = unsafe (sk_bytes(), nil)
        let code = unsafe (binding ?? []).withUnsafeBufferPointer { binding in
            var options = unsafe sk_token_options()
            unsafe options.binding = binding.isEmpty ? nil : binding.baseAddress
            unsafe options.binding_count = binding.count
            unsafe options.delegated = delegated?.handle
            return unsafe sk_token_make(context.handle, ticket.handle, &options, &request, &made)
        }
        try context.check(code)
        guard let made = unsafe made else { throw KerberosError(.other, "krb5 made no token.") }
        self.context = context
        unsafe handle = made
        self.request = unsafe request.take()
    }

    deinit { unsafe sk_proof_free(handle) }

    /// Whether the bytes are the AP-REP that only the ticket's service can create (§3.2.5).
    func isAnswered(by reply: [UInt8]) -> Bool {
        unsafe reply.withUnsafeBufferPointer { reply in
            guard let start = reply.baseAddress else { return false }
            return unsafe sk_proof_check(context.handle, handle, start, reply.count) == 0
        }
    }

    /// Whether `code` is the service's signature of `message` (RFC 4121 §4.2.6.1). Call it after ``isAnswered(by:)``.
    func isSigned(_ message: [UInt8], with code: [UInt8]) -> Bool {
        unsafe message.withUnsafeBufferPointer { message in
            unsafe code.withUnsafeBufferPointer { code in
                guard let text = message.baseAddress, let start = code.baseAddress else { return false }
                return unsafe sk_proof_check_mic(context.handle, handle, text, message.count, start, code.count) == 0
            }
        }
    }
}
