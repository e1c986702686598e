/// What a stage has to do with a request on its way down: ``LoadStage/passage(of:in:)`` says it at once.
public struct LoadPassage: Sendable {
    /// Whether ``LoadStage/load(_:in:next:)`` is left out.
    let isPassed: Bool
    let interests: AnswerInterests
    /// The request as it goes on; nil if it goes on as it came.
    package let request: LoadRequest?
    /// What the stage handed over for ``LoadStage/answered(_:to:after:in:next:)``.
    public let note: (any Sendable)?
    /// What the cache did; the answer's facts say it, whether a stage wants to see the answer or not.
    package private(set) var cacheResult: CacheResult?

    private init(
        isPassed: Bool, interests: AnswerInterests = [], request: LoadRequest? = nil, note: (any Sendable)? = nil
    ) {
        self.isPassed = isPassed
        self.interests = interests
        self.request = request
        self.note = note
    }

    /// ``LoadStage/load(_:in:next:)`` is called, and sees whatever comes back.
    public static let runs = LoadPassage(isPassed: false)

    /// The request goes by the stage, which sees those answers alone in which it is interested. Failures of the stages
    /// below are not seen.
    ///
    /// - Parameters:
    ///   - interests: the answers with which ``LoadStage/answered(_:to:after:in:next:)`` is called.
    ///   - request: the request as it goes on; if nil, as it came.
    ///   - note: what that call needs besides. Up to 24 bytes cost no allocation.
    public static func passes(
        watching interests: AnswerInterests = [], as request: LoadRequest? = nil, note: (any Sendable)? = nil
    ) -> LoadPassage {
        LoadPassage(isPassed: true, interests: interests, request: request, note: note)
    }

    /// The same passage of a request for which the cache did something.
    package func telling(_ result: CacheResult) -> LoadPassage {
        var passage = self
        passage.cacheResult = result
        return passage
    }

    /// Whether the stage wants to see a response.
    func wants(_ response: LoadResponse) -> Bool {
        !interests.isEmpty && !AnswerInterests(of: response, among: interests).isEmpty
    }
}
