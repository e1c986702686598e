internal import HTTPTypes
internal import SallyportCore
public import SallyportLoading

extension CacheStage {
    /// Looks up the stored entry, and says whether it would be used now. Changes no counters.
    public func explain(
        _ request: inout LoadRequest, in context: LoadContext, into explanation: inout LoadExplanation
    ) async {
        guard let place = place(for: request, in: context) else { return }
        let load = CachedLoad(request, in: context, next: LoadChain([]), at: place)
        let (result, reason) = load.expectation
        explanation.decided(.cache, result.rawValue, because: reason)
    }
}

extension CachedLoad {
    /// The expected result of the load, as far as the stored entries tell.
    fileprivate var expectation: (CacheResult, reason: String) {
        if isForServer { return (.bypassed, "the request is for the server alone") }
        guard case .slot(let slot) = cache.find(key, for: selecting, joins: false),
            let stored = cache.read(slot, of: request.url, context.principal, under: place.trust)
        else { return (.miss, "nothing is stored") }
        guard let decision = try? presentDecision(), stored.answer.way == CachedAnswer.Way(decision.route) else {
            return (.miss, "the stored answer came by another kind of route")
        }
        guard part(of: stored.answer) != nil else { return (.miss, "the stored answer is incomplete for this request") }
        switch rules.decide(stored.answer, now: cache.now()) {
        case .use(isStale: false): return (.hit, "what is stored is fresh")
        case .use(isStale: true), .useAndValidate: return (.stale, "the stored answer may be used though it is stale")
        case .validate: return (.revalidated, "the server is asked whether the stored answer is valid")
        }
    }
}
