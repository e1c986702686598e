/// Where the gateway's published keys come from. The app server brings its own HTTP client: this module links none.
public protocol AuthTokenKeySource: Sendable {
    /// Gets the document at `https://GATEWAY/.well-known/jwks.json`, over TLS that verified to the gateway's authority.
    ///
    /// Called at most once in 10 s, by a task of its own for all verifications that wait for it. That task is cancelled
    /// after 30 s: the call must end then, and should in less. It may throw anything. More than 64 KiB is refused.
    func fetchKeys() async throws -> [UInt8]
}

/// A document of keys that was got before: from a file, or in tests. It is never fetched anew.
public struct FixedKeys: AuthTokenKeySource {
    private let document: [UInt8]

    /// - Parameter document: JSON as the gateway publishes it.
    public init(_ document: [UInt8]) { self.document = document }

    /// The document, each time the same.
    public func fetchKeys() async throws -> [UInt8] { document }
}
