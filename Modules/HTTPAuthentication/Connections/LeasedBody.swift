internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// The body of an answer over a connection of the user's own, which the next load may use once it was read to its end. One
/// that fails or is not wanted takes its connection with it.
struct LeasedBody: BodySource {
    private let body: ResponseBody
    private let number: UInt64
    /// Guarded by a lock, since a body is given up by a synchronous call from any thread.
    private let lease: Lock<ConnectionLease?>

    init(_ body: ResponseBody, over lease: ConnectionLease, number: UInt64) {
        self.body = body
        self.number = number
        self.lease = Lock(lease)
    }

    var trailers: HTTPFields? { body.trailers }

    func next() async throws(LoadError) -> [UInt8]? {
        do throws(LoadError) {
            guard let chunk = try await body.next() else {
                lease.withLock { $0.take() }?.keep(as: number)
                return nil
            }
            return chunk
        } catch {
            _ = lease.withLock { $0.take() }
            throw error
        }
    }

    func discard() {
        body.discard()
        _ = lease.withLock { $0.take() }
    }
}
