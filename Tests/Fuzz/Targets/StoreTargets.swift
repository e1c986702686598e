import SallyportLoading

@testable import SallyportSecureStore

extension FuzzTarget {
    static let store = [metaPage, treePage, keyFile, manifest, record]

    private static let metaPage = FuzzTarget("meta-page", words: ["\u{ef}\u{be}\u{ad}\u{de}", "\0\0\0\0\0\0\0\0"]) {
        bytes throws(BrokenProperty) in
        guard let page = try? MetaPage(bytes, number: 0) else { return }
        try demand(PageLayout.isPageSize(page.pageSize), "A page has a size that is none.")
    }

    /// The input stands at both ends of a page of 512 bytes.
    private static let treePage = FuzzTarget("tree-page", words: ["\0\0", "\u{2}\0", "\u{1}\0", "\u{10}\0"]) {
        bytes throws(BrokenProperty) in
        let half = bytes.prefix(256)
        let rest = bytes.dropFirst(256).prefix(256)
        let gap = [UInt8](repeating: 0, count: 512 - half.count - rest.count)
        let whole = Array(half) + gap + Array(rest)
        guard let page = try? TreePage(whole, number: 0, pageSize: 512) else { return }
        for index in 0..<page.count {
            _ = page.key(index)
            if page.kind == .branch { _ = page.child(index) } else { _ = page.value(index) }
        }
    }

    private static let keyFile = FuzzTarget("key-file", words: ["passphrase", "key file", "\0\u{20}", "\u{8}"]) {
        bytes throws(BrokenProperty) in
        guard let parsed = try? KeyRingFile.parse(bytes) else { return }
        try demand(parsed.start + parsed.rootBox + parsed.ringBox == bytes, "Bytes of a key file are in no part.")
    }

    private static let manifest = FuzzTarget("manifest") { bytes throws(BrokenProperty) in
        guard let manifest = StreamManifest(bytes: bytes) else { return }
        try demand(manifest.bytes == bytes, "A manifest comes out as another.")
    }

    /// A record cannot be created without the key.
    private static let record = FuzzTarget("record") { bytes throws(BrokenProperty) in
        let place = [UInt8](repeating: 1, count: 48)
        try demand((try? cipher.open(bytes, at: place)) == nil, "A record was forged.")
        _ = RecordCipher.hasMore(bytes)
        guard let sealed = try? cipher.seal(key: Array(bytes.prefix(64)), value: bytes, at: place) else { return }
        let opened = try? cipher.open(sealed, at: place)
        try demand(opened?.value == bytes, "A record comes out as another.")
        var broken = sealed
        broken[bytes.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xffff } % broken.count] ^= 1
        try demand((try? cipher.open(broken, at: place)) == nil, "A broken record was taken.")
    }

    private static let cipher = KeyRing.generate().cipher(identifier: [UInt8](repeating: 7, count: 16))
}
