internal import SallyportBase
internal import Synchronization

/// The cache that the sessions of an instance use: the instance's own, or none.
package final class SharedCache: Sendable {
    package let original: SecureCache
    /// Read by each load without a lock.
    private let isOriginal = Atomic(true)

    package init(_ original: SecureCache) { self.original = original }

    /// The object that the app has set; caching is on only while it is the original.
    package var current: SecureCache? {
        get {
            guard let substitute = original.state.withLock({ $0.substitute }) else { return original }
            return substitute.cache
        }
        set {
            let isOriginal = newValue === original
            original.state.withLock { $0.substitute = isOriginal ? nil : SecureCache.Substitute(cache: newValue) }
            self.isOriginal.store(isOriginal, ordering: .releasing)
        }
    }

    /// Nil while caching is off.
    package var active: SecureCache? { isOriginal.load(ordering: .acquiring) ? original : nil }
}
