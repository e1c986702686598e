/// How a load chooses among the methods by which a server or a proxy asks who somebody is.
package struct MethodPreferences: Sendable, Hashable {
    /// Whether the strongest goes first, and not the one that is named first.
    package var prefersStrongest: Bool
    /// Whether Basic may say a password where the connection with whoever asks is not encrypted.
    package var allowsBasicOverPlainHTTP: Bool

    package init(prefersStrongest: Bool = false, allowsBasicOverPlainHTTP: Bool = false) {
        self.prefersStrongest = prefersStrongest
        self.allowsBasicOverPlainHTTP = allowsBasicOverPlainHTTP
    }
}
