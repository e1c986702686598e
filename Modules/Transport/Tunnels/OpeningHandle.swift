internal import SallyportCore
internal import SallyportEventLoop
internal import Synchronization

/// The opening of a tunnel as every thread may see it: what was asked for, and its place among the openings of its loop.
final class OpeningHandle: LoopHandle {
    let request: TunnelRequest
    /// In the encoding of the ClientHello.
    let applicationProtocols: [UInt8]
    let engine: TransportEngine
    let start = LoopInstant.now
    private let wasCancelled = Atomic(false)
    private let index = Atomic(-1)

    init(_ request: TunnelRequest, offering applicationProtocols: [UInt8], engine: TransportEngine) {
        self.request = request
        self.applicationProtocols = applicationProtocols
        self.engine = engine
    }

    var isCancelled: Bool { wasCancelled.load(ordering: .acquiring) }

    /// The caller's task was cancelled. From any thread.
    func cancel() {
        wasCancelled.store(true, ordering: .releasing)
        engine.post(.cancelOpening(self))
    }

    /// Set and read on the loop only; atomic, because nothing else proves that.
    var place: Int {
        get { index.load(ordering: .relaxed) }
        set { index.store(newValue, ordering: .relaxed) }
    }
}
