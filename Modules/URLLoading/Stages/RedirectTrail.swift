internal import HTTPTypes
internal import SallyportCore
internal import SallyportLoading

/// The requests that a load has made so far, to detect one that is repeated.
struct RedirectTrail {
    private struct Step: Hashable {
        let method: HTTPRequest.Method
        let url: String
        let fields: HTTPFields
        let hasBody: Bool

        /// The fragment is left out, since it is never sent.
        init(_ request: LoadRequest) {
            method = request.method
            url = request.url.absoluteText
            fields = request.headerFields
            hasBody = request.body != nil
        }
    }

    private var steps: Set<Step> = []

    /// A request was answered. If the response sets a cookie, or a challenge was answered before it, the same request
    /// may be answered differently next time: stages below this one add the cookies and the credential to it.
    mutating func add(_ request: LoadRequest, _ answer: LoadResponse) {
        let mayBeAnsweredAnew = answer.fieldsSentNow[.setCookie] != nil || answer.facts.followsChallenge
        if mayBeAnsweredAnew { steps = [] } else { steps.insert(Step(request)) }
    }

    func has(_ request: LoadRequest) -> Bool { steps.contains(Step(request)) }
}
