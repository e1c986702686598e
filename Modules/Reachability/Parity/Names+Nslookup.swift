internal import SallyportBase
internal import SallyportCore

extension Names {
    /// Looks up a name and returns at once; `completion` is called once, with the answer or the error. This is for code
    /// that does not await; ``lookUp(_:_:within:)`` is for code that does, and can be cancelled.
    ///
    /// Invalid arguments are reported in the same way: nothing is thrown. `completion` is called on no particular
    /// thread, never from within this call. `Sallyport.shutdown()` ends running look-ups with
    /// ``NameError/Code/cancelled``, and later ones too.
    ///
    /// - Parameters:
    ///   - host: as for ``lookUp(_:_:within:)``.
    ///   - type: CNAME (0), A (1), AAAA (2) or SRV (3).
    ///   - limit: the time limit, up to ``maximumTime``.
    ///   - completion: receives an answer and no error, or no answer and an error with its
    ///     ``NameError/documentedNumber``.
    public func nslookup(
        _ host: String, type: NameAnswer.RecordType, within limit: Duration = .seconds(10),
        completion: @escaping @Sendable (_ response: NameAnswer?, _ error: NameError?) -> Void
    ) {
        detached.begin {
            do throws(NameError) {
                completion(try await lookUp(host, type, within: limit), nil)
            } catch {
                completion(nil, error)
            }
        }
    }

    /// Ends the look-ups of ``nslookup(_:type:within:completion:)``. Idempotent.
    public func shutdown() async { await detached.shutdown() }
}
