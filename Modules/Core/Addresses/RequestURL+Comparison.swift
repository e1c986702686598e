internal import SallyportBase

extension RequestURL {
    /// Whether ``absoluteText`` is this text, compared by bytes and without creating it: a cache compares the URL of each
    /// entry that it uses.
    package func isWritten(as text: String) -> Bool {
        let bytes = text.utf8.span
        guard let endpoint, var rest = bytes.end(of: scheme, from: 0) else { return text == absoluteText }
        func continues(_ part: String) -> Bool {
            guard let end = bytes.end(of: part, from: rest) else { return false }
            rest = end
            return true
        }
        guard continues("://"), continues(endpoint.host.description) else { return false }
        if endpoint.port != Self.defaultPort(of: scheme) {
            guard continues(":"), continues(String(endpoint.port)) else { return false }
        }
        guard continues(path) else { return false }
        if let query { guard continues("?"), continues(query) else { return false } }
        return rest == bytes.count
    }
}

extension Span<UInt8> {
    /// Where a text ends that begins at an offset; nil if something else is there.
    fileprivate func end(of text: String, from start: Int) -> Int? {
        let part = text.utf8.span
        guard part.count <= count - start else { return nil }
        for index in part.indices where self[start + index] != part[index] { return nil }
        return start + part.count
    }
}
