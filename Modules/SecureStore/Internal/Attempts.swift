/// Steps that are all tried, whether or not those before them failed.
struct Attempts {
    /// The error of the first step that failed.
    private var failure: StoreError?

    mutating func attempt(_ step: () throws(StoreError) -> Void) {
        do throws(StoreError) { try step() } catch { failure = failure ?? error }
    }

    /// Throws the error of the first step that failed.
    func finish() throws(StoreError) {
        if let failure { throw failure }
    }
}
