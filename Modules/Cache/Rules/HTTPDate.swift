internal import HTTPTypes
internal import SallyportBase

/// A date of a field (RFC 9110 §5.6.7): the form that is generated, and the two obsolete ones that are read.
///
/// Parsed strictly by the grammar, including its spaces, with names in any case (RFC 9111 §4.2): a text that only
/// resembles a date, such as one in another zone than GMT, must not make a response fresh.
struct HTTPDate {
    private var rest: Substring.UTF8View

    /// - Parameter now: the present time, which decides the century of a two-digit year: a date more than 50 years in
    ///   the future is taken as the latest year in the past with the same digits.
    /// - Returns: nil for any other text. The caller then treats an expiry as past, and any other date as missing.
    static func parse(_ text: String, now: CacheTime) -> CacheTime? {
        guard text.utf8.count <= 64 else { return nil }
        let text = text.trimmed.lowercased()
        var date = HTTPDate(rest: Substring(text).utf8)
        let seconds = date.takeDate(now)
        guard date.rest.isEmpty else { return nil }
        return seconds.map(CacheTime.init(seconds:))
    }

    private static let months = CivilDate.months.map { $0.lowercased() }
    private static let days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
    private static let longDays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]

    private mutating func takeDate(_ now: CacheTime) -> Int64? {
        if takeAny(of: Self.longDays) != nil { return takeObsolete(now) }
        guard takeAny(of: Self.days) != nil else { return nil }
        return take(", ") ? takeFixed() : takeASCTime()
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`, after the comma.
    private mutating func takeFixed() -> Int64? {
        guard let day = takeNumber(2), take(" "), let month = takeAny(of: Self.months), take(" "),
            let year = takeNumber(4), take(" "), let time = takeTime(), take(" gmt")
        else { return nil }
        return Self.seconds(year, month + 1, day, time)
    }

    /// `Sunday, 06-Nov-94 08:49:37 GMT`, after the day's name.
    private mutating func takeObsolete(_ now: CacheTime) -> Int64? {
        guard take(", "), let day = takeNumber(2), take("-"), let month = takeAny(of: Self.months), take("-"),
            let short = takeNumber(2), take(" "), let time = takeTime(), take(" gmt")
        else { return nil }
        let thisYear = Self.year(of: now)
        let year = thisYear / 100 * 100 + short
        // A day that exists in only one of the two centuries (29 February) is refused.
        guard let seconds = Self.seconds(year, month + 1, day, time) else { return nil }
        let elapsed = now.milliseconds / 1000 - Self.start(of: thisYear)
        let isFar = seconds > Self.start(of: thisYear + 50) + elapsed
        return isFar ? Self.seconds(year - 100, month + 1, day, time) : seconds
    }

    private static func year(of now: CacheTime) -> Int {
        let seconds = now.milliseconds / 1000
        // An estimate by the mean length of a year, which is at most one year off.
        let guess = 1970 + Int(seconds / 31_556_952)
        if seconds < start(of: guess) { return guess - 1 }
        return seconds < start(of: guess + 1) ? guess : guess + 1
    }

    private static func start(of year: Int) -> Int64 { CivilDate.daysSince1970(year, 1, 1) * 86_400 }

    /// `Sun Nov  6 08:49:37 1994`, after the day's name.
    private mutating func takeASCTime() -> Int64? {
        guard take(" "), let month = takeAny(of: Self.months), take(" "),
            let day = take(" ") ? takeNumber(1) : takeNumber(2), take(" "), let time = takeTime(), take(" "),
            let year = takeNumber(4)
        else { return nil }
        return Self.seconds(year, month + 1, day, time)
    }

    /// The second of the day; a minute may have 61 seconds (RFC 9110 §5.6.7).
    private mutating func takeTime() -> Int? {
        guard let hour = takeNumber(2), take(":"), let minute = takeNumber(2), take(":"), let second = takeNumber(2),
            hour < 24, minute < 60, second <= 60
        else { return nil }
        return hour * 3600 + minute * 60 + second
    }

    private static func seconds(_ year: Int, _ month: Int, _ day: Int, _ time: Int) -> Int64? {
        guard year >= 1601, day >= 1, day <= CivilDate.days(in: month, of: year) else { return nil }
        return CivilDate.daysSince1970(year, month, day) * 86_400 + Int64(time)
    }

    // MARK: Words

    private mutating func take(_ word: String) -> Bool {
        guard rest.starts(with: word.utf8) else { return false }
        rest = rest.dropFirst(word.utf8.count)
        return true
    }

    /// The index of the word that comes next; nil if none of them does.
    private mutating func takeAny(of words: [String]) -> Int? { words.firstIndex { take($0) } }

    private mutating func takeNumber(_ digits: Int) -> Int? {
        let text = rest.prefix(digits)
        guard text.count == digits, text.allSatisfy({ (48...57).contains($0) }) else { return nil }
        rest = rest.dropFirst(digits)
        return Int(Substring(text))
    }
}
