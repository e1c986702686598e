/// What the pools of one loop have in common. On the loop only.
final class LoopShare {
    let scratch = Scratch()
    let protocols = OriginProtocols()
    let losses = UnexplainedLosses()
    var exchanges = LoopTable<Exchange>()
    var openings = LoopTable<TunnelOpening>()
    var streams = LoopTable<TunnelStream>()
}
