internal import SallyportCore
internal import SallyportTransport

/// The settings of a session, and the ways that its last requests took: the policy is asked once for each, the path of
/// its connections is built once, and both are used as long as that policy is in force.
package final class KnownWays: Sendable {
    /// A way to a server in the name of a principal. One object, which requests share.
    package final class Known: Sendable {
        let endpoint: Endpoint
        let isSecure: Bool
        let principal: Principal
        let way: Way
        let path: ConnectionPath
        /// The way through the secondary cluster; nil if there is none.
        let secondary: Known?
        // Of the way, for each request: the whole of it would be copied.
        let isRelayed: Bool
        let decision: RouteDecision?
        private let hasPolicy: Bool
        private let edition: PolicyEdition?

        init(
            to endpoint: Endpoint, isSecure: Bool, of principal: Principal, by way: Way, via path: ConnectionPath,
            or secondary: Known? = nil
        ) {
            (self.endpoint, self.isSecure, self.principal) = (endpoint, isSecure, principal)
            (self.way, self.path, self.secondary) = (way, path, secondary)
            (isRelayed, decision) = (way.relay != nil, way.decision)
            (hasPolicy, edition) = (way.answer != nil, way.answer?.edition)
        }

        func leads(to endpoint: Endpoint, isSecure: Bool, of principal: Principal) -> Bool {
            self.endpoint.port == endpoint.port && self.isSecure == isSecure && self.endpoint.host == endpoint.host
                && self.principal == principal
        }

        /// Whether the policy would give the same answer again. Without a policy, nothing can change.
        var isInForce: Bool {
            guard hasPolicy else { return true }
            return edition?.isInForce ?? false
        }

        /// Whether another way has the same path: all of what a path takes from policy and request.
        func hasPath(of other: Way, _ principal: Principal) -> Bool {
            self.principal == principal && way.versions == other.versions && way.relay == other.relay
                && way.decision?.addresses == other.decision?.addresses
        }
    }

    let settings: ConnectionSettings
    private let book: WayBook
    private let page: Int

    package init(_ settings: ConnectionSettings, of connector: Connector) {
        self.settings = settings
        book = connector.ways
        page = book.addPage()
    }

    deinit { book.removePage(page) }

    /// The way to a server and its path: a known one that is in force, or else the policy's current answer.
    ///
    /// - Throws: as ``Connector/way(to:isSecure:with:)``.
    func way(
        to endpoint: Endpoint, isSecure: Bool, of principal: Principal, asking connector: Connector
    ) throws(LoadError) -> Known {
        let last = book.first(on: page) { $0.leads(to: endpoint, isSecure: isSecure, of: principal) }
        if let last, last.isInForce { return last }
        let way = try connector.way(to: endpoint, isSecure: isSecure, with: settings)
        let like = book.first(on: page) { $0.hasPath(of: way, principal) }
        let path = like?.path ?? settings.path(of: principal, by: way)
        let secondary = way.bySecondary.map { way in
            Known(
                to: endpoint, isSecure: isSecure, of: principal, by: way, via: settings.path(of: principal, by: way))
        }
        let new = Known(to: endpoint, isSecure: isSecure, of: principal, by: way, via: path, or: secondary)
        // If the gate must be asked each time, only the path is reused.
        if like == nil || way.answer?.edition != nil { keep(new, insteadOf: last) }
        return new
    }

    private func keep(_ new: Known, insteadOf last: Known?) {
        book.add(new, insteadOf: last, on: page)
        // Entries that were removed while the policy was asked must not be added again.
        if new.way.answer?.edition?.isInForce == false { book.remove(new, from: page) }
    }

    var count: Int { book.count(on: page) }
}
