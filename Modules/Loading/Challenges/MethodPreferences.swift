/// How a load chooses among the authentication methods that a server or a proxy offers in a challenge.
package struct MethodPreferences: Sendable, Hashable {
    /// Whether the strongest method is tried first, rather than the one that the server names first.
    package var prefersStrongest: Bool
    /// Whether Basic may send a password to a server or a proxy over an unencrypted connection.
    package var allowsBasicOverPlainHTTP: Bool

    package init(prefersStrongest: Bool = false, allowsBasicOverPlainHTTP: Bool = false) {
        self.prefersStrongest = prefersStrongest
        self.allowsBasicOverPlainHTTP = allowsBasicOverPlainHTTP
    }
}
