internal import SallyportCore
package import SallyportLoading

extension Connector {
    /// Says how a request would be sent: asks the policy as an exchange does, but makes no connection.
    package nonisolated func explain(
        _ request: LoadRequest, in context: LoadContext, with settings: ConnectionSettings,
        into explanation: inout LoadExplanation
    ) {
        guard let endpoint = request.url.endpoint else { return }
        do throws(LoadError) {
            let way = try way(to: endpoint, isSecure: request.url.isSecure, with: settings)
            let proxy = context.proxies.proxy(for: request.url)
            explanation.decided(.route, Self.name(of: way, proxy), because: way.decision.map { "\($0.rule)" })
            explanation.cluster = way.relay?.cluster
            explanation.secondary = way.bySecondary?.relay?.cluster
            if request.url.isSecure { explanation.tlsVersions = way.versionNames }
            if way.relay != nil, proxy != nil { throw Self.hasBoth }
        } catch {
            explanation.refused(error)
        }
    }

    /// The route's name in records.
    static func name(of way: Way, _ proxy: Proxy?) -> String {
        proxy.map { "proxy \($0)" } ?? way.decision.map { "\($0.route)" } ?? "direct"
    }
}
