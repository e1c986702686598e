internal import SallyportCore

/// A date of a field (RFC 9110 §5.6.7): the form that is generated, and the two obsolete ones that are read.
enum HTTPDate {
    private static let months = CivilDate.months.map { $0.lowercased() }

    /// Nil for anything else: whoever asks takes that for the past.
    ///
    /// - Parameter now: decides the century of a year of two digits: the last one that is not more than 50 years ahead.
    static func parse(_ text: String, now: CacheTime) -> CacheTime? {
        guard text.utf8.count <= 64 else { return nil }
        let words = text.lowercased().split(separator: " ")
        let seconds: Int64?
        switch words.count {
        case 6: seconds = fixed(words)
        case 4: seconds = obsolete(words, now)
        case 5: seconds = ascTime(words)
        default: seconds = nil
        }
        return seconds.map(CacheTime.init(seconds:))
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`
    private static func fixed(_ words: [Substring]) -> Int64? {
        guard isDay(words[0], comma: true), words[5] == "gmt" || words[5] == "utc" else { return nil }
        return seconds(day: words[1], month: words[2], year: number(words[3], digits: 4), time: words[4])
    }

    /// `Sunday, 06-Nov-94 08:49:37 GMT`
    private static func obsolete(_ words: [Substring], _ now: CacheTime) -> Int64? {
        let date = words[1].split(separator: "-", omittingEmptySubsequences: false)
        guard isDay(words[0], comma: true), words[3] == "gmt", date.count == 3,
            let short = number(date[2], digits: 2)
        else { return nil }
        let thisYear = 1970 + now.milliseconds / 31_556_952_000
        let century = thisYear / 100 * 100
        let year = century + short > thisYear + 50 ? century + short - 100 : century + short
        return seconds(day: date[0], month: date[1], year: year, time: words[2])
    }

    /// `Sun Nov  6 08:49:37 1994`
    private static func ascTime(_ words: [Substring]) -> Int64? {
        guard isDay(words[0], comma: false) else { return nil }
        return seconds(day: words[2], month: words[1], year: number(words[4], digits: 4), time: words[3])
    }

    private static func isDay(_ word: Substring, comma: Bool) -> Bool {
        let days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
        return days.contains(String(word.prefix(3))) && word.hasSuffix(",") == comma
    }

    private static func seconds(day: Substring, month: Substring, year: Int64?, time: Substring) -> Int64? {
        let parts = time.split(separator: ":", omittingEmptySubsequences: false).map { number($0, digits: 2) }
        guard let day = number(day, digits: day.utf8.count), let month = months.firstIndex(of: String(month)),
            let year, parts.count == 3, let hour = parts[0], let minute = parts[1], let second = parts[2],
            (1...31).contains(day), (1601...9999).contains(year), hour < 24, minute < 60, second <= 60
        else { return nil }
        return CivilDate.daysSince1970(Int(year), month + 1, Int(day)) * 86_400 + hour * 3600 + minute * 60 + second
    }

    private static func number(_ text: Substring, digits: Int) -> Int64? {
        guard (1...4).contains(digits), text.utf8.count == digits, text.utf8.allSatisfy({ (48...57).contains($0) })
        else { return nil }
        return Int64(text)
    }
}
