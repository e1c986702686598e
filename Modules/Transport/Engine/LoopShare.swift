internal import SallyportEventLoop

/// What the pools of one loop have in common. On the loop only.
final class LoopShare {
    let scratch = Scratch()
    /// As a connection begins with it.
    let briefWait: BriefWait
    /// Whether the caller of the exchange that starts may wait for the answer on its own thread.
    var callerMayWait = false
    let protocols = OriginProtocols()
    let losses = UnexplainedLosses()
    var exchanges = LoopTable<Exchange>()
    var openings = LoopTable<TunnelOpening>()
    var streams = LoopTable<TunnelStream>()

    init(briefWait: BriefWait) { self.briefWait = briefWait }
}
