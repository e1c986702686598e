package import HTTPTypes
package import SallyportBase
package import SallyportCore

/// Adds the proof of identity to a request's fields at the last moment, so that no proof is made for a request that the
/// cache answers, and checks the proof in its answer first, so that the cache stores none that is not the server's.
///
/// Called by the last stage each time it sends a request.
package protocol RequestSigner: Sendable {
    /// - Parameter fields: the fields with which the request is sent.
    func sign(_ fields: inout HTTPFields) async

    /// The user whose proofs the proxy gets: bytes that are equal for equal users only; nil if it gets none.
    var proxyUser: Redacted<[UInt8]>? { get }

    /// Checks the server's own proof in the answer to the request that was signed last.
    ///
    /// - Returns: the response. Its body may end in an error if it is not the one that the server's proof covers.
    /// - Throws: ``LoadError/Code/serverNotAuthenticated``.
    func examined(_ response: LoadResponse) async throws(LoadError) -> LoadResponse
}

extension RequestSigner {
    package var proxyUser: Redacted<[UInt8]>? { nil }

    package func examined(_ response: LoadResponse) async throws(LoadError) -> LoadResponse { response }
}
