/// How a store is opened.
public struct StoreOptions: Sendable, Hashable {
    /// Changes nothing; works beside a process that writes.
    public var isReadOnly = false
    /// Makes the store where there is none. Has no effect read-only.
    public var createsIfMissing = true
    /// How far the data file may grow, in bytes. 64 GiB by default; address space, not memory.
    public var maximumSize = 64 << 30

    /// After a rotation of the data key, old records are encrypted anew when nobody writes; else by
    /// ``SecureStore/finishRotation()`` only.
    public var rotatesInBackground = true

    public init() {}

    /// Read-only, and never created.
    public static let readOnly: StoreOptions = {
        var options = StoreOptions()
        options.isReadOnly = true
        options.createsIfMissing = false
        return options
    }()

    /// Writable, and refused with ``StoreError/Code/notFound`` where there is none.
    public static let existing: StoreOptions = {
        var options = StoreOptions()
        options.createsIfMissing = false
        return options
    }()
}
