/// A text that is compared and hashed by its bytes in UTF-8, as files, databases and other programs do it. To `String`,
/// texts that Unicode calls equivalent are equal and have one hash: two stored names would be one, and any number of
/// names could be chosen that share a hash.
package struct ByteText: Sendable, Hashable {
    private let text: String

    package init(_ text: String) { self.text = text }

    package static func == (one: ByteText, other: ByteText) -> Bool { one.text.utf8.elementsEqual(other.text.utf8) }

    package func hash(into hasher: inout Hasher) { hasher.combine(Array(text.utf8)) }
}
