internal import SallyportBase
internal import Synchronization

/// Which cache the sessions of an instance use: the instance's own, or none.
package final class SharedCache: Sendable {
    package let original: SecureCache
    private let place: Lock<SecureCache?>
    private let isOriginal = Atomic(true)

    package init(_ original: SecureCache) {
        self.original = original
        place = Lock(original)
    }

    /// What the app has put there; caching is on only while it is the original.
    package var current: SecureCache? {
        get { place.withLock { $0 } }
        set {
            place.withLock { $0 = newValue }
            isOriginal.store(newValue === original, ordering: .releasing)
        }
    }

    /// Nil while caching is off.
    package var active: SecureCache? { isOriginal.load(ordering: .acquiring) ? original : nil }
}
