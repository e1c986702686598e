/// One run of `fetch`.
struct Fetch {
    private let command: FetchCommand

    init(_ command: FetchCommand) { self.command = command }

    func run() async throws {
        _ = try command.requests()
        throw Client.missing
    }
}
