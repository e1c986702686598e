/// The options for opening a store.
public struct StoreOptions: Sendable, Hashable {
    /// Opens without writing; possible while another process writes.
    public var isReadOnly = false
    /// Creates the store if there is none. Has no effect on a read-only store.
    public var createsIfMissing = true
    /// The greatest size of the data file, in bytes; 64 GiB by default. This reserves address space, not memory.
    public var maximumSize = 64 << 30

    /// Re-encrypts old records after a rotation of the data key while no writer waits; if false, only
    /// ``SecureStore/finishRotation()`` does it.
    public var rotatesInBackground = true

    /// Writable, and created if there is none.
    public init() {}

    /// Read-only, and never created.
    public static let readOnly: StoreOptions = {
        var options = StoreOptions()
        options.isReadOnly = true
        options.createsIfMissing = false
        return options
    }()

    /// Writable, but not created: throws ``StoreError/Code/notFound`` if there is none.
    public static let existing: StoreOptions = {
        var options = StoreOptions()
        options.createsIfMissing = false
        return options
    }()
}
