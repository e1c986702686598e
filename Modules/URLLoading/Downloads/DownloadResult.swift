package import SallyportLoading

/// How a download ended.
package struct DownloadResult: Sendable {
    /// The last response with bytes of the file; a 416 if an earlier download had left all of them. If the file is not
    /// whole, the response that does not become it. Its body was read or discarded.
    package let response: LoadResponse
    /// Whether the target is the whole file now, whatever the response's status. Otherwise it is what it was before.
    package let isWhole: Bool
}
