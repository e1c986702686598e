internal import SallyportBase
internal import Synchronization

/// A cache that sessions share, with the switch by which the app turns it off and on again while they load.
///
/// A value is one reference: the switch belongs to the cache, so that all values for the same cache, and all its
/// ``CacheStage``s, see the same position. Turning it off removes nothing: entries stay in the store, unsafe requests
/// invalidate them meanwhile, and they are used again when it is on. A lock or a wipe of the app does not change the
/// position; the gate of the cache refuses its entries then.
///
/// As parts of an instance, and as what is cleared with credentials, list ``original``.
public struct SharedCache: Sendable {
    /// The cache itself, which answers while the switch is on.
    public let original: SecureCache

    /// The cache, switched on unless another value has switched it off.
    ///
    /// - Parameter original: holds the entries.
    public init(_ original: SecureCache) { self.original = original }

    /// What stands in the place of the cache; caching is on only while that is ``original``.
    ///
    /// Set nil, or any other object, to switch it off, and ``original`` to switch it on. Another object is only kept
    /// and returned, and never asked for an entry. Loads that have begun go on as they began.
    public var current: SecureCache? {
        get {
            guard let substitute = original.state.withLock({ $0.substitute }) else { return original }
            return substitute.cache
        }
        nonmutating set {
            let new = newValue === original ? nil : SecureCache.Substitute(cache: newValue)
            let former = original.state.withLock { state in
                let former = state.substitute
                state.substitute = new
                original.isReplaced.store(new != nil, ordering: .releasing)
                return former
            }
            // Released here, after the lock: the end of a cache takes others.
            withExtendedLifetime(former) {}
        }
    }

    /// Nil while caching is off.
    var active: SecureCache? { original.isReplaced.load(ordering: .acquiring) ? nil : original }
}
