import HTTPTypes

@testable import SallyportCache

extension FuzzTarget {
    static let cache = [control, fields, record]

    private static let control = FuzzTarget(
        "cache-control",
        text: ["max-age=", "no-store", "no-cache=\"", "\"", "\\", ",", "=", "\n", "max-stale", "99999999999999999999"]
    ) { text throws(BrokenProperty) in
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let control = CacheControl(lines)
        let numbers = [control.maxAge, control.staleWhileRevalidate, control.staleIfError, control.minFresh]
        for number in numbers.compactMap(\.self) {
            try demand((0...CacheControl.longest).contains(number), "A number of seconds is \(number).")
        }
        // One line more never makes anything laxer.
        let stricter = CacheControl(lines + ["no-store, max-age=0"])
        try demand(stricter.noStore && stricter.maxAge == 0, "A directive was hidden.")
        try demand(control.noCache ? stricter.noCache : true, "A directive was taken back.")
    }

    /// Two heads, a blank line between them: what is stored, and what freshens it.
    private static let fields = FuzzTarget(
        "cache-fields",
        text: [
            "\n", "\n\n", ": ", "ETag: ", "W/\"", "Vary: ", "Cache-Control: ", "Connection: ", "Expires: ", "Age: ",
            "Content-Range: bytes ", "Range: bytes=", "Last-Modified: ", "GMT", "-", "/", ",",
        ]
    ) { text throws(BrokenProperty) in
        let parts = text.split(separator: "\n\n", maxSplits: 1, omittingEmptySubsequences: false)
        let (old, new) = (fields(parts.first ?? ""), fields(parts.dropFirst().first ?? ""))
        let now = CacheTime(seconds: 1_800_000_000)
        let head = HTTPResponse(status: .ok, headerFields: old)
        let control = CacheControl(old)
        try demand(Freshness(of: head, control, received: now).lifetime >= 0, "A lifetime lies below zero.")
        let age = Age(of: old, requested: now, received: now).seconds(at: now)
        try demand(age.map { $0 >= 0 } ?? false, "An age lies below zero.")
        let stored = StorageRules.stored(old, control)
        let merged = Validation.merged(stored, with: new, CacheControl(new))
        try demand(!merged.contains { StorageRules.excluded.contains($0.name) }, "A field of a connection is stored.")
        try demand(merged[fields: .contentLength] == stored[fields: .contentLength], "A length is of another body.")
        if let range = ContentRange(of: old) { try demand(range.count > 0 && range.last < range.total, "\(range)") }
        if let range = ByteRange(old)?.resolved(total: 10) {
            try demand(range.first >= 0 && range.last < 10, "\(range)")
        }
        try demand(Variation.names(in: old)?.count ?? 0 <= Variation.limit, "More names are read than is allowed.")
        _ = RequestTerms(old)
        _ = Validators(old).areConfirmed(by: Validators(new))
    }

    private static func fields(_ text: Substring) -> HTTPFields {
        var fields = HTTPFields()
        for line in text.split(separator: "\n").prefix(64) {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, let name = HTTPField.Name(String(parts[0])) else { continue }
            fields.append(HTTPField(name: name, value: String(parts[1]).trimmed))
        }
        return fields
    }

    private static let record = FuzzTarget(
        "cache-record", words: ["\u{1}", "\0", "\u{7f}", "https://a.example/", "ETag"]
    ) {
        bytes throws(BrokenProperty) in
        if let slot = IndexSlot(id: EntryID(bytes: [1]), bytes: bytes) {
            try demand(IndexSlot(id: slot.id, bytes: slot.bytes) == slot, "A slot is read as another.")
        }
        guard let (answer, body) = CachedAnswer.decode(bytes) else { return }
        try demand(answer.isStreamed || Int64(body.count) == answer.length, "A body has another length than it says.")
        let again = CachedAnswer.decode(answer.bytes(body: body))
        try demand(again?.answer == answer && again?.body == body, "An answer is read as another.")
    }
}
