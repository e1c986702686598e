internal import CKerberos
internal import SallyportCore

/// A krb5 context with its own profile. For one thread at a time: its creator must not share it.
@safe
final class KerberosContext {
    let handle: OpaquePointer

    /// - Parameter offset: how many seconds the realm's clock is ahead of this machine's.
    init(offset: Int32 = 0) throws(KerberosError) {
        var made: OpaquePointer?
        let code = unsafe sk_context_make(&made)
        guard let made = unsafe made else { throw KerberosError(.other, "krb5 cannot be used: \(code).") }
        unsafe handle = made
        let result = unsafe sk_set_offset(made, offset)
        guard result == 0 else { throw error(result) }
    }

    deinit { unsafe sk_context_free(handle) }

    /// How many seconds the realm's clock is ahead, if an answer has said so.
    var offset: Int32 { unsafe sk_offset(handle) }

    func check(_ code: Int32, fileID: StaticString = #fileID, line: UInt = #line) throws(KerberosError) {
        guard code == 0 else { throw error(code, fileID: fileID, line: line) }
    }

    func error(_ code: Int32, fileID: StaticString = #fileID, line: UInt = #line) -> KerberosError {
        KerberosError(Self.code(of: code), words(for: code), fileID: fileID, line: line)
    }

    private func words(for code: Int32) -> String {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 512) { text in
            guard let start = text.baseAddress else { return "" }
            unsafe sk_describe(handle, code, start, text.count)
            return unsafe String(cString: start)
        }
    }

    private static func code(of code: Int32) -> KerberosError.Code {
        switch code {
        case sk_wrong_password, sk_preauth_failed: .wrongPassword
        case sk_unknown_client: .unknownUser
        case sk_unknown_service: .unknownService
        case sk_key_expired: .passwordExpired
        case sk_revoked: .accountLocked
        case sk_expired: .ticketExpired
        case sk_skew: .clockSkew
        case sk_no_key: .keytab
        case sk_aborted: .kdcUnreachable
        default: isOfCoding(code) ? .kdcProtocol : .other
        }
    }

    /// ASN.1 errors, and answers that do not match the request.
    private static func isOfCoding(_ code: Int32) -> Bool {
        (sk_coding_errors..<sk_coding_errors + 256).contains(code) || code == sk_modified
    }
}

extension sk_bytes {
    /// Copies the bytes; krb5's buffer is cleared and freed.
    mutating func take() -> [UInt8] {
        let taken = unsafe bytes == nil ? [] : Array(UnsafeBufferPointer(start: bytes, count: count))
        unsafe sk_bytes_free(&self)
        return taken
    }

    mutating func takeText() -> String { unsafe String(decoding: take(), as: UTF8.self) }
}
