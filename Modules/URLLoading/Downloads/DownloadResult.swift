package import SallyportLoading

/// How a download ended.
package struct DownloadResult: Sendable {
    /// What the target is now.
    package enum Target: Sendable {
        /// The whole, with bytes of the response.
        case loaded
        /// The whole, of which an earlier download had left all bytes: the response, a 416, only says so.
        case completeBefore
        /// What it was: the response does not become the file.
        case untouched
    }

    /// The last response with bytes of the file, if any has; its body was read or discarded.
    package let response: LoadResponse
    package let target: Target

    /// Whether the file is whole, whatever the response's status.
    package var isWhole: Bool { target != .untouched }
}
