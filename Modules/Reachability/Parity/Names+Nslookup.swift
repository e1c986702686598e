internal import SallyportBase
internal import SallyportCore

extension Names {
    /// Asks about a name and returns; `completion` is called once, with the answer or with why there is none: `nslookup` of
    /// the documents, for code that does not await. ``lookUp(_:_:within:)`` is the same for code that does, and can be
    /// cancelled.
    ///
    /// What cannot be asked for is told in the same way: nothing is thrown. `completion` is called on no particular thread,
    /// never from within this call. At `Sallyport.shutdown()` what is under way ends with ``NameError/Code/cancelled``, and
    /// so does what is asked for later.
    ///
    /// - Parameters:
    ///   - host: as for ``lookUp(_:_:within:)``.
    ///   - type: the documents know CNAME (0) and A (1).
    ///   - limit: the longest time for it, up to ``maximumTime``.
    ///   - completion: gets an answer and no error, or no answer and an error with its
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

    /// Ends what ``nslookup(_:type:within:completion:)`` began. Idempotent.
    public func shutdown() async { await detached.shutdown() }
}
