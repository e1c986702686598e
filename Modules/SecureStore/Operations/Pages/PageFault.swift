/// What is wrong with one page, for the report.
struct PageFault: Error, Hashable, Sendable {
    let kind: StoreFinding.Kind
    let page: UInt64
    let text: String

    /// - Parameter text: follows "Page 7 " in the message.
    init(_ kind: StoreFinding.Kind, page: UInt64, _ text: String) {
        (self.kind, self.page, self.text) = (kind, page, text)
    }

    var finding: StoreFinding { StoreFinding(kind: kind, page: page, message: "Page \(page) \(text).") }
}

/// Why a check could not continue: the file is damaged, or it could not be read.
enum CheckFailure: Error, Sendable {
    case fault(PageFault)
    case store(StoreError)
    /// Neither meta page holds the requested snapshot any more.
    case moved
}
