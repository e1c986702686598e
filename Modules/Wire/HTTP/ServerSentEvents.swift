/// One event of an event stream (WHATWG HTML, "Server-sent events").
package struct ServerSentEvent: Sendable, Hashable {
    /// `message` if the stream names none.
    package var type: String
    package var data: String
    /// The last id that the stream set; nil before the first.
    package var id: String?

    package init(type: String = "message", data: String, id: String? = nil) {
        self.type = type
        self.data = data
        self.id = id
    }

    /// A comment that keeps the stream alive.
    package static let heartbeat = ":\n\n"

    /// The event in the stream's format. Line breaks in data make several data lines; in type and id they are removed.
    package var serialized: String {
        func oneLine(_ text: String) -> String { text.filter { !$0.isNewline && $0 != "\0" } }
        var text = type == "message" ? "" : "event: \(oneLine(type))\n"
        if let id { text += "id: \(oneLine(id))\n" }
        for line in data.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            text += "data: \(line)\n"
        }
        return text + "\n"
    }
}

/// Reads an event stream piece by piece.
package struct ServerSentEventParser: Sendable {
    /// The longest line and the longest event, in bytes.
    package static let maximumLength = 64 << 10

    private var line: [UInt8] = []
    private var isBehindCarriageReturn = false
    private var isFirstLine = true
    private var type = ""
    private var data: [UInt8] = []
    private var hasData = false
    private var lastID: String?
    /// The reconnection time that the stream requested, in milliseconds.
    package private(set) var retry: Int?

    package init() {}

    /// Takes any number of further bytes, and returns the events that they complete.
    ///
    /// - Throws: `tooLarge`; the parser must not be used afterwards.
    package mutating func receive(_ bytes: some Sequence<UInt8>) throws(WireError) -> [ServerSentEvent] {
        var events: [ServerSentEvent] = []
        for byte in bytes {
            defer { isBehindCarriageReturn = byte == 0x0d }
            switch byte {
            case 0x0a where isBehindCarriageReturn: break
            case 0x0a, 0x0d: if let event = try endLine() { events.append(event) }
            default:
                guard line.count < Self.maximumLength else {
                    throw WireError(.tooLarge, "A line of an event stream has at most \(Self.maximumLength) bytes.")
                }
                line.append(byte)
            }
        }
        return events
    }

    private mutating func endLine() throws(WireError) -> ServerSentEvent? {
        if isFirstLine, line.starts(with: [0xef, 0xbb, 0xbf]) { line.removeFirst(3) }
        isFirstLine = false
        defer { line.removeAll(keepingCapacity: true) }
        if line.isEmpty { return dispatch() }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        var value = line[colon...].dropFirst()
        if value.first == 0x20 { value = value.dropFirst() }
        try take(field: String(decoding: line[..<colon], as: UTF8.self), value: value)
        return nil
    }

    private mutating func take(field: String, value: ArraySlice<UInt8>) throws(WireError) {
        switch field {
        case "event": type = String(decoding: value, as: UTF8.self)
        case "data":
            guard data.count + value.count < Self.maximumLength else {
                throw WireError(.tooLarge, "An event has at most \(Self.maximumLength) bytes of data.")
            }
            if hasData { data.append(0x0a) }
            data += value
            hasData = true
        case "id" where !value.contains(0): lastID = String(decoding: value, as: UTF8.self)
        case "retry" where (1...9).contains(value.count) && value.allSatisfy({ (0x30...0x39).contains($0) }):
            retry = Int(String(decoding: value, as: UTF8.self))
        default: break
        }
    }

    private mutating func dispatch() -> ServerSentEvent? {
        defer {
            type = ""
            data.removeAll(keepingCapacity: true)
            hasData = false
        }
        guard hasData else { return nil }
        return ServerSentEvent(
            type: type.isEmpty ? "message" : type, data: String(decoding: data, as: UTF8.self), id: lastID)
    }
}
