internal import SallyportCore

/// Why a request to the gateway ended whose connection was closed from this side, with all others. The gateway did not
/// fail: no other one is asked instead, and it is not avoided.
struct ConnectionsReset: Error {}

extension LoadError {
    /// What a reset ends requests with.
    static var reset: LoadError {
        LoadError(.connectionLost, "All connections were reset.", underlying: ConnectionsReset())
    }
}

extension Error {
    var isReset: Bool { (self as? LoadError)?.underlying is ConnectionsReset }
}
