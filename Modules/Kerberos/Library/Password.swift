internal import CKerberos
internal import SallyportBase

/// A password in the form that krb5 needs, cleared when there is no reference left.
@safe
final class Password: @unchecked Sendable, Hashable, CustomReflectable {
    // SAFETY: written only by the initializer, before it is shared.
    private let bytes: UnsafeMutableBufferPointer<CChar>

    /// Nil if it contains a zero, where krb5 would stop reading.
    init?(_ password: Redacted<String>) {
        let text = password.reveal().utf8
        guard !text.contains(0) else { return nil }
        unsafe bytes = .allocate(capacity: text.count + 1)
        unsafe bytes.initialize(repeating: 0)
        for (index, byte) in text.enumerated() { unsafe bytes[index] = CChar(bitPattern: byte) }
    }

    deinit {
        if let start = unsafe bytes.baseAddress { unsafe sk_clear(start, bytes.count) }
        unsafe bytes.deallocate()
    }

    func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
        // Never empty: the last byte is zero.
        unsafe body(UnsafePointer(bytes.baseAddress.unsafelyUnwrapped))
    }

    /// Hides the password when a value that contains it is dumped.
    var customMirror: Mirror { Mirror(self, children: []) }

    static func == (left: Password, right: Password) -> Bool {
        unsafe left.bytes.count == right.bytes.count && left.bytes.elementsEqual(right.bytes)
    }

    /// All passwords have the same hash, which says nothing of them: a user has few at a time.
    func hash(into hasher: inout Hasher) {}
}
