internal import CCurl
internal import COpenSSL
internal import Glibc
internal import SallyportBase
internal import SallyportCore

/// Authorities that may issue a server's certificate, and their revocation lists, read once for all pools that need the
/// same ones: the system's authorities alone take most of a megabyte, and more time than the rest of a handshake.
///
/// It lives as long as there is a reference to it.
@safe
final class AuthorityStore: @unchecked Sendable {
    // SAFETY: constant after its creation; OpenSSL counts its users and locks its look-ups.
    private let store: OpaquePointer

    /// The contents of a store.
    struct Contents: Sendable, Hashable {
        /// As it was when it was read.
        var system: FileStamp?
        var anchors: [[UInt8]]
        var lists: [[UInt8]]
    }

    /// - Parameter system: the authorities of the system's file, if the contents have it.
    private init?(_ contents: Contents, _ system: SystemAuthorities?) {
        guard let store = unsafe X509_STORE_new() else { return nil }
        unsafe self.store = store
        // Like libcurl: an anchor need not be self-signed.
        _ = unsafe X509_STORE_set_flags(store, UInt(X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN))
        if let system, unsafe !system.add(to: store) { return nil }
        for anchor in contents.anchors { unsafe Self.add(anchor, to: store) }
        for list in contents.lists { unsafe Self.addList(list, to: store) }
    }

    deinit { unsafe X509_STORE_free(store) }

    /// The number of certificates and revocation lists.
    var count: Int { Int(unsafe sallyport_contents_count(store)) }

    /// Uses this store in a context, which releases the one that it had before.
    func use(in context: OpaquePointer) { unsafe SSL_CTX_set1_cert_store(context, store) }

    /// An unreadable certificate is not an anchor.
    static func add(_ anchor: [UInt8], to store: OpaquePointer?) {
        unsafe anchor.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            guard let certificate = unsafe d2i_X509(nil, &start, buffer.count) else { return ERR_clear_error() }
            unsafe X509_STORE_add_cert(store, certificate)
            unsafe X509_free(certificate)
        }
    }

    private static func addList(_ list: [UInt8], to store: OpaquePointer) {
        unsafe list.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            guard let list = unsafe d2i_X509_CRL(nil, &start, buffer.count) else { return ERR_clear_error() }
            unsafe X509_STORE_add_crl(store, list)
            unsafe X509_CRL_free(list)
        }
    }

    // MARK: Those that there are

    private struct Weak { weak var store: AuthorityStore? }

    private struct Known {
        var stores: [Contents: Weak] = [:]
        /// By the file's path. Kept without a store that uses them: an app that opens an instance anew needs them again.
        var system: [String: SystemAuthorities] = [:]

        mutating func authorities(in file: FileStamp) -> SystemAuthorities? {
            if let known = system[file.path], known.stamp == file { return known }
            system[file.path] = SystemAuthorities(file)
            return system[file.path]
        }

        mutating func store(of contents: Contents) -> AuthorityStore? {
            if let store = stores[contents]?.store { return store }
            stores = stores.filter { $0.value.store != nil }
            let system = contents.system.flatMap { authorities(in: $0) }
            if contents.system != nil && system == nil { return nil }
            let store = AuthorityStore(contents, system)
            stores[contents] = Weak(store: store)
            return store
        }
    }

    private static let known = Lock(Known())

    /// The existing store with these contents, if there is one, else a new one. Nil if the system's file cannot be read.
    static func of(_ contents: Contents) -> AuthorityStore? {
        // Made under the lock: a second thread that needs the same store waits for it instead of making another.
        known.withLock { $0.store(of: contents) }
    }
}

/// Identifies a file at a path, to detect whether it was changed.
struct FileStamp: Sendable, Hashable {
    let path: String
    private let numbers: [Int]

    /// Nil if there is none.
    init?(_ path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        self.path = path
        numbers = [
            Int(truncatingIfNeeded: status.st_dev), Int(truncatingIfNeeded: status.st_ino), Int(status.st_size),
            status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
        ]
    }
}

/// The authorities of a pool, read again if the system's have changed. On the loop only.
final class PoolAuthorities {
    private let isSystem: Bool
    private let anchors: [[UInt8]]
    private let lists: [[UInt8]]
    private var held: (system: FileStamp?, store: AuthorityStore)?

    init(_ trust: TrustAnchors, _ lists: [[UInt8]]) {
        (isSystem, anchors) =
            switch trust {
            case .system: (true, [])
            case .systemAnd(let anchors): (true, anchors)
            case .only(let anchors), .gateway(let anchors): (false, anchors)
            case .unverified: (false, [])
            }
        self.lists = lists
    }

    /// Nil if the system's file cannot be read, and there were none before: libcurl reports the reason then.
    var current: AuthorityStore? {
        let system = isSystem ? Self.systemFile.flatMap { FileStamp($0) } : nil
        guard held == nil || held?.system != system else { return held?.store }
        guard !isSystem || system != nil,
            let store = AuthorityStore.of(.init(system: system, anchors: anchors, lists: lists))
        else { return held?.store }
        held = (system, store)
        return store
    }

    /// As libcurl was built.
    private static let systemFile: String? = unsafe curl_version_info(CURLVERSION_SEVENTH).pointee.cainfo.map {
        unsafe String(cString: $0)
    }
}
