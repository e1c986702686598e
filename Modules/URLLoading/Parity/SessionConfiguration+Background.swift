public import SallyportCore

extension SessionConfiguration {
    /// Always throws: a server process has no service that loads while it does not run.
    ///
    /// - Throws: `LoadError` with the code `backgroundUnsupported`.
    public static func background(withIdentifier identifier: String) throws(LoadError) -> SessionConfiguration {
        throw LoadError(.backgroundUnsupported, "There are no background sessions in a server process.")
    }
}
