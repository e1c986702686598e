internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// The body of an answer over a user's own connection, which the next load may use once the body was read to its end. A
/// body that fails or is discarded closes its connection.
final class LeasedBody: BodySource {
    private let body: ResponseBody
    private let number: UInt64
    /// Taken by the first call that ends the body, on any thread, which ends the lease.
    private let lease: TakenOnce<ConnectionLease>

    init(_ body: ResponseBody, over lease: ConnectionLease, number: UInt64) {
        self.body = body
        self.number = number
        self.lease = TakenOnce(lease)
    }

    var trailers: HTTPFields? { body.trailers }

    func next() async throws(LoadError) -> [UInt8]? {
        do throws(LoadError) {
            guard let chunk = try await body.next() else {
                lease.take()?.keep(as: number)
                return nil
            }
            return chunk
        } catch {
            _ = lease.take()
            throw error
        }
    }

    func discard() {
        body.discard()
        _ = lease.take()
    }
}
