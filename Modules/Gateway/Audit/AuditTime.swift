/// The time of an entry: RFC 3339 with milliseconds, in UTC, so that texts are in the order of the times.
enum AuditTime {
    /// - Parameter milliseconds: since 1970, of the years up to 9999.
    static func text(_ milliseconds: Int64) -> String {
        let bounded = max(0, min(milliseconds, 253_402_300_799_999))
        let (days, rest) = bounded.quotientAndRemainder(dividingBy: 86_400_000)
        let (year, month, day) = date(days)
        let (seconds, fraction) = rest.quotientAndRemainder(dividingBy: 1000)
        let clock = [seconds / 3600, seconds / 60 % 60, seconds % 60].map { padded($0, 2) }.joined(separator: ":")
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T\(clock).\(padded(fraction, 3))Z"
    }

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    /// The Gregorian date of a day since 1970. Counts years from 1 March, so that the leap day is the last of its year.
    private static func date(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, day) = (days + 719_468).quotientAndRemainder(dividingBy: 146_097)
        let yearOfEra = (day - day / 1460 + day / 36_524 - day / 146_096) / 365
        let dayOfYear = day - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let fromMarch = (5 * dayOfYear + 2) / 153
        let month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9
        return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * fromMarch + 2) / 5 + 1)
    }
}
