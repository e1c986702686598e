import SallyportBase
import Testing

@Suite struct PathPartsTests {
    @Test(arguments: [
        ("file", ".", "file"), ("/file", "/", "file"), ("a/file", "a", "file"), ("/a/b/file", "/a/b", "file"),
        ("a/", "a", ""), ("/", "/", ""), ("", ".", ""),
    ])
    func aPathIsDividedAtItsLastSlash(_ path: String, _ directory: String, _ name: String) {
        let parts = PathParts(path)
        #expect(parts.directory == directory && parts.name == name)
    }

    /// An accent that stands alone combines with the slash before it to one character of `String`.
    @Test func aSlashBeforeACombiningMarkIsASlash() {
        let parts = PathParts("/a/b/\u{301}file")
        #expect(parts.directory == "/a/b" && parts.name.unicodeScalars.elementsEqual("\u{301}file".unicodeScalars))
    }
}
