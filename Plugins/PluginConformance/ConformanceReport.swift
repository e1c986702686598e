/// The result of a run of ``PluginConformance``.
public struct ConformanceReport: Sendable, CustomStringConvertible {
    /// The handler's violations; empty if it conforms. For each rule and sample, the first one.
    public let violations: [Violation]
    /// How many loads the handler has run.
    public let loads: Int
    /// What could not be tested because there was no suitable sample, one line each.
    public let notTried: [String]

    /// One line for each violation, or one that says that there are none.
    public var description: String {
        violations.isEmpty
            ? "No violation in \(loads) loads." : violations.map(\.description).joined(separator: "\n")
    }
}

/// One rule that a handler violated.
public struct Violation: Sendable, Hashable, CustomStringConvertible {
    /// Which rule it is.
    public let rule: Rule
    /// The name of the sample; nil if the violation concerns all of them.
    public let sample: String?
    /// What was observed. Contains nothing of a request or an answer.
    public let detail: String

    /// The violation, in one line.
    public var description: String { "\(rule)\(sample.map { " (\($0))" } ?? ""): \(detail)" }
}

/// The rules for protocol handlers. Later versions may add rules.
public struct Rule: Sendable, Hashable, CustomStringConvertible {
    private enum Value: String {
        case takesItsRequests, canonicalForm, order, chunkSize, expectedAnswer, typedErrors, backPressure, streams
        case sameAnswer, ends, endsWhenCancelled, tellsOfTruncation, stopsWhenRefused, silentAfterItsEnd, keepsNothing
    }
    private let value: Value

    /// `canHandle` takes the sample.
    public static let takesItsRequests = Rule(value: .takesItsRequests)
    /// The canonical form of a canonical form is the same, and the handler takes it.
    public static let canonicalForm = Rule(value: .canonicalForm)
    /// The head once, then the body; an answer or an error; a request is declined before the head only.
    public static let order = Rule(value: .order)
    /// No chunk is longer than ``PluginConformance/largestChunk``.
    public static let chunkSize = Rule(value: .chunkSize)
    /// The sample is answered, or fails, as its expectation says.
    public static let expectedAnswer = Rule(value: .expectedAnswer)
    /// Errors are `LoadError`, `RequestDeclined` or, if the task is cancelled, `CancellationError`.
    public static let typedErrors = Rule(value: .typedErrors)
    /// Nothing is written, and the handler does not return, while an earlier write waits for room.
    public static let backPressure = Rule(value: .backPressure)
    /// Bytes from the source are passed on before the source sends more.
    public static let streams = Rule(value: .streams)
    /// A slow reader, a slow request body and a session get the answer that a fast reader gets.
    public static let sameAnswer = Rule(value: .sameAnswer)
    /// A load ends.
    public static let ends = Rule(value: .ends)
    /// A cancelled load ends.
    public static let endsWhenCancelled = Rule(value: .endsWhenCancelled)
    /// A load that was cancelled before its body was complete does not return normally.
    public static let tellsOfTruncation = Rule(value: .tellsOfTruncation)
    /// Nothing more is written after a write was refused.
    public static let stopsWhenRefused = Rule(value: .stopsWhenRefused)
    /// The writer is not called after the handler returned.
    public static let silentAfterItsEnd = Rule(value: .silentAfterItsEnd)
    /// Neither the writer nor the handler nor a descriptor outlives the load.
    public static let keepsNothing = Rule(value: .keepsNothing)

    public var description: String { value.rawValue }
}
