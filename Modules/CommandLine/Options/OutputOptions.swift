import ArgumentParser

/// The options of every command.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print one JSON value; failures as {\"error\":{\"code\",\"name\",\"message\"}} on standard error.")
    var json = false

    /// Prints a value as JSON or in words.
    func print(_ value: some Encodable, _ text: @autoclosure () -> String) {
        StandardStreams.output(json ? JSONOutput.text(value) : text())
    }
}

/// What a command without its own output prints under `--json`.
struct Acknowledgement: Encodable {
    let done = true
}
