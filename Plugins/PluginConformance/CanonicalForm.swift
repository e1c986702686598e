internal import SallyportLoading

/// Whether the handler takes a sample, and whether its canonical form is one.
struct CanonicalForm {
    private let handler: Subject
    private let sample: SampleRequest
    private let ledger: Ledger

    init(_ handler: Subject, _ sample: SampleRequest, _ ledger: Ledger) {
        self.handler = handler
        self.sample = sample
        self.ledger = ledger
    }

    /// False where the handler cannot be tried with the sample.
    func isSound() -> Bool {
        guard handler.canHandle(sample.request) else {
            ledger.add(.takesItsRequests, sample.name, "canHandle does not take the request.")
            return false
        }
        let once = handler.canonicalForm(sample.request)
        guard handler.canHandle(once) else {
            ledger.add(.canonicalForm, sample.name, "canHandle does not take the canonical form of the request.")
            return false
        }
        let twice = handler.canonicalForm(once)
        if let part = difference(once, twice) {
            ledger.add(.canonicalForm, sample.name, "The canonical form of a canonical form has another \(part).")
        }
        if (once.body == nil) != (sample.request.body == nil) {
            ledger.add(.canonicalForm, sample.name, "The canonical form lost the body, or made one up.")
        }
        return true
    }

    private func difference(_ left: LoadRequest, _ right: LoadRequest) -> String? {
        if left.url != right.url { return "URL" }
        if left.method != right.method { return "method" }
        if left.headerFields != right.headerFields { return "header" }
        return left.body?.length != right.body?.length ? "body" : nil
    }
}
