extension String {
    /// The text with each such scalar replaced.
    ///
    /// Other programs read a quotation mark that a combining mark follows as a quotation mark, while Swift's characters
    /// join the two.
    package func replacing(scalar: Unicode.Scalar, with replacement: String) -> String {
        unicodeScalars.map { $0 == scalar ? replacement : "\($0)" }.joined()
    }
}
