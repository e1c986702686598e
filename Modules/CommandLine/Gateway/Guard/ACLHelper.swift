import SallyportGateway

/// Reads Squid's questions from standard input, and writes the guard's answers to standard output, in the order in
/// which they come.
struct ACLHelper: Sendable {
    /// The most questions that are open at a time: further ones are read later.
    private static let maximumQuestions = 256

    private let client: GuardClient
    private let input = BlockingCalls("sallyport.input")
    private let output = BlockingCalls("sallyport.output")

    init(_ client: GuardClient) { self.client = client }

    /// Returns when Squid has closed standard input, or no longer reads the answers.
    ///
    /// - Throws: for a line without a channel, on which there is no answer.
    func run() async throws {
        var lines = LineSplitter(limit: ACLQuery.maximumLine)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            var open = 0
            while let bytes = await input.call({ StandardStreams.read(upTo: 64 << 10) }), !bytes.isEmpty {
                for line in lines.take(bytes) {
                    let query = ACLQuery(line: line)
                    if query == .unreadable { throw Self.unreadable }
                    if open == Self.maximumQuestions {
                        guard try await group.next() == true else { return }
                        open -= 1
                    }
                    open += 1
                    group.addTask { await answer(query) }
                }
            }
            try await group.waitForAll()
        }
    }

    /// False if the answer could not be written.
    private func answer(_ query: ACLQuery) async -> Bool {
        let line: String
        switch query {
        case .question(let question, let channel): line = await client.ask(question).squidLine(channel: channel)
        case .mistake(let message, let channel): line = GuardAnswer.failed(message).squidLine(channel: channel)
        case .unreadable: return false
        }
        let bytes = Array((line + "\n").utf8)
        return await output.call { StandardStreams.output(text: bytes) } ?? false
    }

    private static let unreadable = CommandFailure(
        .usage, name: "invalid", "A line of Squid's does not begin with the number of a channel.",
        hint: "give external_acl_type the option concurrency=64")
}
