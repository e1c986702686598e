import SallyportCore

extension ServerTrust {
    /// The authorities in a PEM file that a command was given, besides those of the operating system. It may be a pipe,
    /// such as bash's `<(…)`.
    static func systemAnd(given path: String) throws(LoadError) -> ServerTrust {
        let certificates = try PEMFile.blocks(
            "CERTIFICATE", at: Workplace.current.path(path), limit: 4 << 20, mayBePipe: true)
        return .systemAnd(certificates)
    }
}
