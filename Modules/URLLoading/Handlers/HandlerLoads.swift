internal import SallyportBase
internal import SallyportCore

/// The loads that plugins' handlers carry out now, so that withdrawal and invalidation reach them.
final class HandlerLoads: Sendable {
    private let loads = Lock<[ObjectIdentifier: HandlerLoad]>([:])

    func insert(_ load: HandlerLoad) { loads.withLock { $0[ObjectIdentifier(load)] = load } }

    func remove(_ load: HandlerLoad) { loads.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(load)) } }

    var count: Int { loads.withLock { $0.count } }

    /// Ends the loads of the sessions whose tag matches.
    func end(with failure: LoadError, where isAffected: (String) -> Bool = { _ in true }) {
        let affected = loads.withLock { Array($0.values) }
        for load in affected where isAffected(load.tag) { load.end(with: failure) }
    }
}
