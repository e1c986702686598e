internal import CKerberos
internal import SallyportBase

/// A password in the form that krb5 needs, cleared when there is no reference left.
@safe
final class Password: @unchecked Sendable, Equatable, CustomReflectable {
    // SAFETY: written only by the initializer, before it is shared.
    private let octets: UnsafeMutableBufferPointer<CChar>

    /// Nil if it contains a zero, where krb5 would stop reading.
    init?(_ password: Redacted<String>) {
        let text = password.reveal().utf8
        guard !text.contains(0) else { return nil }
        unsafe octets = .allocate(capacity: text.count + 1)
        unsafe octets.initialize(repeating: 0)
        for (index, byte) in text.enumerated() { unsafe octets[index] = CChar(bitPattern: byte) }
    }

    deinit {
        if let start = unsafe octets.baseAddress { unsafe sk_clear(start, octets.count) }
        unsafe octets.deallocate()
    }

    func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
        // Never empty: the last byte is zero.
        unsafe body(UnsafePointer(octets.baseAddress.unsafelyUnwrapped))
    }

    /// Hides the password when a value that contains it is dumped.
    var customMirror: Mirror { Mirror(self, children: []) }

    static func == (left: Password, right: Password) -> Bool {
        unsafe left.octets.count == right.octets.count && left.octets.elementsEqual(right.octets)
    }
}
