/// A part of an app's instance that holds something a withdrawal must clear, or that must be shut down.
///
/// Sessions, sockets, credentials, jars, the cache and others are parts. The code that opens an instance lists them
/// once, as `Sallyport.open` does; an app that composes its own instance does the same. `InstanceParts` of the module
/// Authorization informs all of them.
public protocol InstancePart: Sendable {
    /// Access was withdrawn with a code that drops secrets (``AccessChange/dropsSecrets``) and perhaps destroys the
    /// data (``AccessChange/destroysData``): clears the memory. The withdrawal is published once all parts have
    /// returned. Open connections have been ended by then, by ``AccessGate/onAccessChange(_:)``. The default
    /// implementation does nothing.
    func withdrawn(_ change: AccessChange) async

    /// Ends the work in progress, and writes what is pending. Idempotent.
    func shutdown() async
}

extension InstancePart {
    /// Does nothing.
    public func withdrawn(_ change: AccessChange) async {}
}
