internal import CCurl
internal import HTTPTypes

/// Header lines as libcurl takes them: a list of C strings, in one allocation.
///
/// libcurl reads the list while the transfer runs; the owner of the transfer keeps this object as long.
@safe
final class HeaderLines {
    private let storage: UnsafeMutableRawPointer
    let list: UnsafeMutablePointer<curl_slist>

    /// - Parameter extra: lines of the transport's own, such as `Expect:`, which keeps libcurl from making one.
    convenience init?(_ fields: HTTPFields, extra: [StaticString] = []) {
        self.init(checked: fields.lazy.filter { !Self.isOwnField($0.name) }, extra: extra)
    }

    /// Fields that are the transport's own, too.
    init?(checked fields: some Sequence<HTTPField>, extra: [StaticString] = []) {
        var count = extra.count
        var bytes = extra.reduce(0) { $0 + $1.utf8CodeUnitCount + 1 }
        for field in fields {
            count += 1
            unsafe bytes += field.name.rawName.utf8.count + field.withUnsafeBytesOfValue { $0.count } + 3
        }
        guard count > 0 else { return nil }
        let nodes = unsafe count * MemoryLayout<curl_slist>.stride
        unsafe storage = .allocate(byteCount: nodes + bytes, alignment: MemoryLayout<curl_slist>.alignment)
        unsafe list = storage.bindMemory(to: curl_slist.self, capacity: count)
        var writer = unsafe LineWriter(list: list, count: count, next: storage + nodes)
        for field in fields { unsafe writer.write(field) }
        for line in extra { unsafe writer.write(line) }
    }

    deinit { unsafe storage.deallocate() }

    /// The fields that the transport creates from URL and body; duplicates of these would make a request ambiguous.
    static func isOwnField(_ name: HTTPField.Name) -> Bool {
        // Most names have another length than these.
        switch name.canonicalName.utf8.count {
        case 6: name.canonicalName == "expect"
        case 2, 4, 7, 10, 14, 16, 17, 19: isOwnName(name.canonicalName)
        default: false
        }
    }

    private static func isOwnName(_ name: String) -> Bool {
        switch name {
        case "host", "content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection", "upgrade",
            "te", "http2-settings", "proxy-authorization":
            true
        default: false
        }
    }
}

@unsafe
private struct LineWriter {
    let list: UnsafeMutablePointer<curl_slist>
    let count: Int
    var next: UnsafeMutableRawPointer
    var index = 0

    init(list: UnsafeMutablePointer<curl_slist>, count: Int, next: UnsafeMutableRawPointer) {
        unsafe self.list = unsafe list
        unsafe self.count = count
        unsafe self.next = unsafe next
    }

    mutating func write(_ field: HTTPField) {
        unsafe beginLine()
        var name = field.name.rawName
        name.withUTF8 { unsafe put(UnsafeRawBufferPointer($0)) }
        unsafe field.withUnsafeBytesOfValue { value in
            // "Name:" alone would tell libcurl to send no such field; "Name;" sends an empty one.
            guard !value.isEmpty else { return unsafe put(UInt8(ascii: ";")) }
            unsafe put(UInt8(ascii: ":"))
            unsafe put(UInt8(ascii: " "))
            unsafe put(UnsafeRawBufferPointer(value))
        }
        unsafe put(0)
    }

    mutating func write(_ line: StaticString) {
        unsafe beginLine()
        unsafe put(UnsafeRawBufferPointer(start: line.utf8Start, count: line.utf8CodeUnitCount))
        unsafe put(0)
    }

    private mutating func beginLine() {
        let isLast = unsafe index + 1 == count
        unsafe (list + index).initialize(
            to: curl_slist(
                data: next.assumingMemoryBound(to: CChar.self), next: isLast ? nil : list + index + 1))
        unsafe index += 1
    }

    private mutating func put(_ byte: UInt8) {
        unsafe next.storeBytes(of: byte, as: UInt8.self)
        unsafe next += 1
    }

    private mutating func put(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        unsafe next.copyMemory(from: start, byteCount: bytes.count)
        unsafe next += bytes.count
    }
}
