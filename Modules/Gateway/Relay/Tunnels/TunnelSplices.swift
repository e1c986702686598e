/// The handlers of a tunnel's two sides.
struct TunnelSplices {
    let client: SpliceHandler
    let origin: SpliceHandler

    init(of tunnel: Tunnel) {
        client = SpliceHandler(.client, of: tunnel)
        origin = SpliceHandler(.origin, of: tunnel)
    }
}
