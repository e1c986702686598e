internal import SallyportBase
internal import SallyportCore
internal import SallyportTransport

/// The settings of a session, and the ways that its last requests took: the policy is asked once for each, the path of its
/// connections is built once, and both are used as long as that policy is in force.
package final class KnownWays: Sendable {
    /// A way to a server in the name of a principal. One object, which requests share.
    final class Known: Sendable {
        let endpoint: Endpoint
        let isSecure: Bool
        let principal: Principal
        let way: Way
        let path: ConnectionPath

        init(to endpoint: Endpoint, isSecure: Bool, of principal: Principal, by way: Way, via path: ConnectionPath) {
            (self.endpoint, self.isSecure, self.principal) = (endpoint, isSecure, principal)
            (self.way, self.path) = (way, path)
        }

        func leads(to endpoint: Endpoint, isSecure: Bool, of principal: Principal) -> Bool {
            self.endpoint.port == endpoint.port && self.isSecure == isSecure && self.endpoint.host == endpoint.host
                && self.principal == principal
        }

        /// Whether asking again would give the same. Without a policy there is nothing that could change.
        var isInForce: Bool {
            guard let answer = way.answer else { return true }
            return answer.edition?.isInForce ?? false
        }

        /// Whether another way has the same path: all of what a path takes from policy and request.
        func hasPath(of other: Way, _ principal: Principal) -> Bool {
            self.principal == principal && way.versions == other.versions && way.relay == other.relay
                && way.decision?.addresses == other.decision?.addresses
        }
    }

    /// Most sessions speak to few servers. They are compared one by one, which costs less than a hash.
    private static let limit = 8

    let settings: ConnectionSettings
    private let known = Lock<[Known]>([])
    private let holders: WayHolders

    package init(_ settings: ConnectionSettings, of connector: Connector) {
        self.settings = settings
        holders = connector.holders
        holders.add(self)
    }

    deinit { holders.remove(self) }

    /// The way to a server and its path: a known one that is in force, else by the policy's answer of now.
    ///
    /// - Throws: as ``Connector/way(to:isSecure:with:)``.
    func way(
        to endpoint: Endpoint, isSecure: Bool, of principal: Principal, asking connector: Connector
    ) throws(LoadError) -> Known {
        let last = known.withLock { $0.first { $0.leads(to: endpoint, isSecure: isSecure, of: principal) } }
        if let last, last.isInForce { return last }
        let way = try connector.way(to: endpoint, isSecure: isSecure, with: settings)
        let like = known.withLock { $0.first { $0.hasPath(of: way, principal) } }
        let path = like?.path ?? settings.path(of: principal, by: way)
        let new = Known(to: endpoint, isSecure: isSecure, of: principal, by: way, via: path)
        // A gate that must be asked each time gains the path alone.
        if like == nil || way.answer?.edition != nil { keep(new, insteadOf: last) }
        return new
    }

    private func keep(_ new: Known, insteadOf last: Known?) {
        known.withLock { known in
            known.removeAll { $0 === last }
            if known.count >= Self.limit { known.removeFirst() }
            known.append(new)
        }
        // What was forgotten while the policy was asked is not kept behind it.
        if new.way.answer?.edition?.isInForce == false { known.withLock { $0.removeAll { $0 === new } } }
    }

    /// Other rules are in force, or none: nothing of the old ones is kept, least of all the key that relays were shown.
    func forget() { known.withLock { $0 = [] } }

    var count: Int { known.withLock { $0.count } }
}

/// All that know ways of one connector.
final class WayHolders: Sendable {
    private struct Holder { weak var ways: KnownWays? }

    private let holders = Lock<[ObjectIdentifier: Holder]>([:])

    func add(_ ways: KnownWays) { holders.withLock { $0[ObjectIdentifier(ways)] = Holder(ways: ways) } }
    func remove(_ ways: KnownWays) { holders.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(ways)) } }

    func forget() {
        let all = holders.withLock { $0.values.compactMap(\.ways) }
        for ways in all { ways.forget() }
    }
}
