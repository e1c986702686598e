internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading

/// What the pools of one loop have in common. On the loop only.
final class LoopShare {
    let scratch = Scratch()
    let waitLimits: BriefWait.Limits
    /// Whether the caller of the exchange that starts may wait for the answer on its own thread.
    var callerMayWait = false
    let protocols = OriginProtocols()
    /// Why a connection may not be used under the present policy; nil until the policy has changed for the first time.
    var judge: (@Sendable (OpenConnection) -> LoadError?)?
    /// Is told of handshakes with servers; nil if their versions are of no interest.
    let whenAgreed: AgreedVersion.Listener?
    let losses = UnexplainedLosses()
    var exchanges = LoopTable<Exchange>()
    var openings = LoopTable<TunnelOpening>()
    var streams = LoopTable<TunnelStream>()

    init(waitLimits: BriefWait.Limits, whenAgreed: AgreedVersion.Listener?) {
        self.waitLimits = waitLimits
        self.whenAgreed = whenAgreed
    }
}
