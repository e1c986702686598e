internal import SallyportBase

extension URLLoadingSystem {
    private static let defaultInstance = Lock<URLLoadingSystem?>(nil)

    /// The instance behind the process-wide shared objects; nil if there is none.
    public static var `default`: URLLoadingSystem? { defaultInstance.withLock { $0 } }

    /// Makes this the instance of ``SecureSession/shared``.
    public func makeDefault() {
        let former = Self.defaultInstance.withLock { instance in
            let former = instance
            instance = self
            return former
        }
        // Released here, after the lock: its end takes others.
        withExtendedLifetime(former) {}
    }

    /// Makes this the default instance if there is none.
    public func makeDefaultIfFirst() { Self.defaultInstance.withLock { $0 = $0 ?? self } }

    /// Leaves no default instance if it was this one.
    func resignAsDefault() { Self.defaultInstance.withLock { if $0 === self { $0 = nil } } }
}

extension SecureSession {
    /// The session of the default instance; the system session before authorization and while secure communication
    /// is switched off: direct, without cookies, cache, authentication, relay or store. While authorization is
    /// withdrawn it refuses every request with `withdrawn`.
    ///
    /// The value changes with each `authorize()` and `enable()`: ask for it where you use it.
    public static var shared: SecureSession { URLLoadingSystem.default?.shared ?? processSystem }

    private static let processSystem = SecureSession(SessionConfiguration(), of: .process)
}
