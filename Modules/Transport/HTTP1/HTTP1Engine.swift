/// What speaks HTTP/1.1 over a connection that libcurl has made.
package enum HTTP1Engine: Sendable, Hashable, CaseIterable {
    /// Ours, but for what goes through an HTTP proxy in absolute form, and for https servers of which it is not known yet
    /// whether they choose HTTP/2.
    case automatic
    /// Ours wherever it can be: https servers are offered HTTP/1.1 alone.
    case own
    /// libcurl.
    case libcurl

    /// For transports that are made in the present task. Tests choose; nothing else does.
    @TaskLocal package static var chosen = HTTP1Engine.automatic
}
