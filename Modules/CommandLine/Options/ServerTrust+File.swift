import SallyportCore

extension ServerTrust {
    /// The authorities in a PEM file that a command was given, besides those of the operating system. It may be a pipe,
    /// such as bash's `<(…)`.
    static func systemAnd(given path: String) throws -> ServerTrust {
        let workplace = Workplace.current
        return .systemAnd(
            try PEMFile.blocks(
                "CERTIFICATE", at: workplace.path(path), limit: 4 << 20, awaiting: workplace.hasInput))
    }
}
