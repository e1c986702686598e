/// A stage's decision about a request on its way down: the result of ``LoadStage/passage(of:in:)``.
public struct LoadPassage: Sendable {
    /// Whether ``LoadStage/load(_:in:next:)`` is skipped.
    let isPassed: Bool
    let interests: AnswerInterests
    /// The changed request; nil if it is unchanged, and once it was passed on.
    package internal(set) var request: LoadRequest?
    /// The stage's data for ``LoadStage/answered(_:to:after:in:next:)``.
    public let note: (any Sendable)?
    /// The cache's result; it is added to the answer's facts even if the stage does not see the answer.
    package private(set) var cacheResult: CacheResult?

    private init(
        isPassed: Bool, interests: AnswerInterests = [], request: LoadRequest? = nil, note: (any Sendable)? = nil
    ) {
        self.isPassed = isPassed
        self.interests = interests
        self.request = request
        self.note = note
    }

    /// ``LoadStage/load(_:in:next:)`` is called, and sees every answer.
    public static let runs = LoadPassage(isPassed: false)

    /// The request passes the stage, which sees only the answers in which it is interested, and no failures of the
    /// stages below.
    ///
    /// - Parameters:
    ///   - interests: the answers with which ``LoadStage/answered(_:to:after:in:next:)`` is called.
    ///   - request: the changed request; nil if it is unchanged.
    ///   - note: further data for that call. Up to 24 bytes need no allocation.
    public static func passes(
        watching interests: AnswerInterests = [], as request: consuming LoadRequest? = nil,
        note: (any Sendable)? = nil
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
