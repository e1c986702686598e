/// A part of an app's instance: what keeps something that a withdrawal takes away, or goes on until it is ended.
///
/// Sessions, sockets, credentials, jars, the cache and the rest are parts. What opens an instance lists them once, as
/// `Sallyport.open` does, and so may an app that composes its own: `InstanceParts` of the module Authorization tells all of
/// them.
public protocol InstancePart: Sendable {
    /// Access was withdrawn with a code that drops secrets (``AccessChange/dropsSecrets``), and maybe the data with them
    /// (``AccessChange/destroysData``): drops what is in memory. The withdrawal is published once all parts have returned.
    /// What is open has ended by then, by ``AccessGate/onAccessChange(_:)``. Does nothing, unless the part says otherwise.
    func withdrawn(_ change: AccessChange) async

    /// Ends what goes on, and writes what waits to be written. Idempotent.
    func shutdown() async
}

extension InstancePart {
    public func withdrawn(_ change: AccessChange) async {}
}
