internal import HTTPTypes
internal import SallyportCore

/// Whether a load ended as a sample's expectation and the protocol say.
struct Answer {
    let sample: SampleRequest
    let seen: Recorder.Snapshot
    let ledger: Ledger

    func check() {
        switch (seen.ending, sample.expectation) {
        case (.untyped(let type), _): note(.typedErrors, "The handler threw a \(type).")
        case (.declined, _) where seen.head != nil: note(.order, "The request was declined after the head.")
        case (.whole, _) where seen.head == nil: note(.order, "The handler returned without an answer.")
        case (.whole, .answer(let status, let body)):
            if let code = seen.head?.status.code, code != status.code {
                note(.expectedAnswer, "The status is \(code), not \(status.code).")
            }
            if let body, body != seen.bytes {
                note(.expectedAnswer, "The body is another one, of \(seen.bytes.count) bytes, not \(body.count).")
            }
        case (.failed(let error), .failure(let code)):
            if error.code != code { note(.expectedAnswer, "The code is \(error.code), not \(code).") }
        case (.cancelled, .failure(.cancelled)): break
        case (.whole, .failure(let code)): note(.expectedAnswer, "An answer came, not \(code).")
        case (.failed(let error), .answer): note(.expectedAnswer, "The load failed with \(error.code).")
        case (.cancelled, _): note(.expectedAnswer, "The load was not cancelled, but ended as cancelled.")
        case (.declined, _): note(.takesItsRequests, "The request was declined.")
        case (nil, _): break
        }
    }

    private func note(_ rule: Rule, _ detail: String) { ledger.add(rule, sample.name, detail) }
}
