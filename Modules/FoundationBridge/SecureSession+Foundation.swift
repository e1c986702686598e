public import FoundationNetworking
public import SallyportBase
public import SallyportURLLoading

extension SecureSession {
    /// A configuration whose native sessions load through this session: code that uses `URLSession` gets the secure
    /// routes without change.
    ///
    /// ```swift
    /// let session = URLSession(configuration: sallyport.session.foundationConfiguration())
    /// let (data, response) = try await session.data(from: url)
    /// ```
    ///
    /// Every task of such a session is loaded here, for any URL, or fails; none bypasses this session. Redirects,
    /// cookies and authentication are handled inside, so the native delegate is not asked about them. The
    /// configuration, its copies and the native sessions made with it retain this session. Header fields and time-outs
    /// that were changed in the configuration apply; everything else comes from this session's
    /// `SessionConfiguration`. Docs/FoundationBridge.md lists what is not supported. The system session is not
    /// bridged: its tasks fail.
    ///
    /// Create one configuration for each session and keep it; each session takes about 1 KB that the process never
    /// frees.
    ///
    /// - Parameter limit: the longest body that is collected for a task with a completion handler and for `data(for:)`,
    ///   which deliver it at once; one byte more ends the task with `dataLengthExceedsMaximum`. A data task whose
    ///   session has a delegate gets its body in parts, of any total length, as fast as the delegate takes them.
    public func foundationConfiguration(wholeBodiesUpTo limit: ByteCount = .mebibytes(64)) -> URLSessionConfiguration {
        BridgedConfiguration.make(Bindings.binding(of: self, upTo: limit))
    }
}
