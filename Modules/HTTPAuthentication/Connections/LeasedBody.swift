internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// The body of an answer over a connection of the user's own, which the next load may use once it was read to its end. One
/// that fails or is not wanted takes its connection with it.
final class LeasedBody: BodySource {
    private let body: ResponseBody
    private let number: UInt64
    /// Taken by the first call that gives the body up, from any thread, which ends the lease.
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
