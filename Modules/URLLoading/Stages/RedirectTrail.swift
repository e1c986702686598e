internal import HTTPTypes
internal import SallyportCore
internal import SallyportLoading

/// The requests of one load so far, to find one that is made again.
struct RedirectTrail {
    private struct Step: Hashable {
        let method: HTTPRequest.Method
        let url: String
        let fields: HTTPFields
        let hasBody: Bool

        /// The fragment is never sent, and makes no difference.
        init(_ request: LoadRequest) {
            method = request.method
            url = request.url.absoluteText
            fields = request.headerFields
            hasBody = request.body != nil
        }
    }

    private var steps: Set<Step> = []

    /// A request was answered. What sets a cookie may answer the same request otherwise the next time.
    mutating func add(_ request: LoadRequest, _ answer: LoadResponse) {
        if answer.fieldsSentNow[.setCookie] != nil { steps = [] } else { steps.insert(Step(request)) }
    }

    func has(_ request: LoadRequest) -> Bool { steps.contains(Step(request)) }
}
