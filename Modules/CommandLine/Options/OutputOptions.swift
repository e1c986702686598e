import ArgumentParser

/// What every command takes.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print one JSON value; failures as {\"error\":{\"code\",\"name\",\"message\"}} on standard error.")
    var json = false

    /// Prints a value as JSON or in words.
    func print(_ value: some Encodable, _ text: @autoclosure () -> String) {
        StandardStreams.output(json ? JSONOutput.text(value) : text())
    }
}

/// What a command without an answer of its own prints under `--json`.
struct Acknowledgement: Encodable {
    let done = true
}
