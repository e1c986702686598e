import ArgumentParser

/// Arguments that are checked as a whole.
///
/// ArgumentParser validates before it reports options that it does not know: `fetch --limit-rate 4 URL` would fail since
/// `4` is no URL. So a failed check is tried again without checks, and an unknown option or a missing argument is reported
/// first.
protocol CheckedArguments: ParsableArguments {
    /// - Throws: `ValidationError` for arguments that do not fit together.
    func check() throws
}

extension CheckedArguments {
    func validate() throws { if !ArgumentChecks.areOff { try check() } }
}

enum ArgumentChecks {
    @TaskLocal static var areOff = false

    /// Parses arguments of the program.
    static func parse(_ arguments: [String], as program: any ParsableCommand.Type) throws -> any ParsableCommand {
        do {
            return try program.parseAsRoot(arguments)
        } catch {
            _ = try $areOff.withValue(true) { try program.parseAsRoot(arguments) }
            throw error
        }
    }
}
