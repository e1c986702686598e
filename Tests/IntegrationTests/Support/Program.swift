import TestSupport

/// Runs the program.
@discardableResult
func sallyport(
    _ arguments: String..., input: String? = nil, within limit: Duration = .seconds(60),
    environment: [String: String] = [:]
) async throws -> Outcome {
    try await ChildProcess(Programs.built("sallyport"), arguments, input: input, environment: environment)
        .outcome(within: limit)
}
