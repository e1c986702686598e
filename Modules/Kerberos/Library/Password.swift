internal import CKerberos
internal import SallyportBase

/// A password as krb5 takes it, cleared when nobody holds it.
@safe
final class Password: @unchecked Sendable, Equatable, CustomReflectable {
    // SAFETY: written by the initializer alone, before anybody else has it.
    private let octets: UnsafeMutableBufferPointer<CChar>

    /// Nil for one with a zero in it, of which krb5 would read a part only.
    init?(_ password: Redacted<String>) {
        let text = password.reveal().utf8
        guard !text.contains(0) else { return nil }
        unsafe octets = .allocate(capacity: text.count + 1)
        unsafe octets.initialize(repeating: 0)
        for (index, octet) in text.enumerated() { unsafe octets[index] = CChar(bitPattern: octet) }
    }

    deinit {
        if let start = unsafe octets.baseAddress { unsafe sk_clear(start, octets.count) }
        unsafe octets.deallocate()
    }

    func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
        // Never empty: the last one is zero.
        unsafe body(UnsafePointer(octets.baseAddress.unsafelyUnwrapped))
    }

    /// Hides the password when a value that holds it is dumped.
    var customMirror: Mirror { Mirror(self, children: []) }

    static func == (left: Password, right: Password) -> Bool {
        unsafe left.octets.count == right.octets.count && left.octets.elementsEqual(right.octets)
    }
}
