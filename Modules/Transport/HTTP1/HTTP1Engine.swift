/// The HTTP/1.1 implementation for connections that libcurl opens.
package enum HTTP1Engine: Sendable, Hashable, CaseIterable {
    /// Ours, except for requests in absolute form through an HTTP proxy, and for https servers of which it is not known
    /// yet whether they choose HTTP/2.
    case automatic
    /// Ours wherever possible: https servers are offered only HTTP/1.1.
    case own
    /// libcurl.
    case libcurl

    /// For transports that are created in the current task. Only tests set it.
    @TaskLocal package static var chosen = HTTP1Engine.automatic
}
