package import SallyportBase
package import SallyportCore
package import SallyportLoading

extension SecureSession {
    /// The head, and a body that the caller takes at once; for what stands in front of a session.
    package func answer(to request: LoadRequest, collectingUpTo limit: ByteCount) async throws(LoadError)
        -> LoadResponse
    {
        try await response(to: request, collectsUpTo: limit, nil)
    }

    /// Whether loads go direct without asking a policy.
    package var goesDirect: Bool { isSystem }
}
