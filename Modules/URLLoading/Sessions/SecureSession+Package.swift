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

    /// The time from now until the next withdrawal; for what keeps parts of an answer before it hands them on.
    package var accessPeriod: AccessPeriod { engine.withdrawals.period }

    /// Whether loads go direct without asking a policy.
    package var goesDirect: Bool { isSystem }
}
