public import FoundationNetworking
public import SallyportBase
public import SallyportURLLoading

extension SecureSession {
    /// A configuration whose native sessions load through this session: code on `URLSession` goes the secure way
    /// without change.
    ///
    /// ```swift
    /// let session = URLSession(configuration: sallyport.session.foundationConfiguration())
    /// let (data, response) = try await session.data(from: url)
    /// ```
    ///
    /// Every task of such a session is loaded here, whatever its URL, or fails; none goes direct past this session.
    /// Redirects, cookies and authentication are finished inside, so the native delegate is not asked about them. The
    /// configuration, its copies and the native sessions made with it keep this session. Its header fields and time-outs
    /// are taken from the configuration, where they were changed; all that else makes a load is this session's own
    /// ``SessionConfiguration``. Docs/FoundationBridge.md says what cannot be done. The system session is not bridged:
    /// its tasks fail.
    ///
    /// Make one configuration for each session and keep it; each session takes about 1 KB of the process for ever.
    ///
    /// - Parameter limit: the longest body that is collected for a task with a completion handler and for
    ///   `data(for:)`, which take it at once; one byte more ends the task with `dataLengthExceedsMaximum`. A data
    ///   task whose session has a delegate gets its body in parts, of any length, as fast as the delegate takes them.
    public func foundationConfiguration(wholeBodiesUpTo limit: ByteCount = .megabytes(64)) -> URLSessionConfiguration {
        BridgedConfiguration.make(Bindings.binding(of: self, upTo: limit))
    }
}
