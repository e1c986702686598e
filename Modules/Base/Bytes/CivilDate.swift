/// Days of the Gregorian calendar, for reading dates in header fields. FoundationEssentials could do it, but would
/// create a calendar for each date.
package enum CivilDate {
    /// The names of months in dates of header fields: three letters each.
    package static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// - Parameter month: from 1 on.
    package static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }

    /// For years from 1 on. Counts years from 1 March, so that the leap day is the last day of its year.
    package static func daysSince1970(_ year: Int, _ month: Int, _ day: Int) -> Int64 {
        let year = Int64(month <= 2 ? year - 1 : year)
        let (era, yearOfEra) = (year / 400, year % 400)
        let monthFromMarch = Int64((month + 9) % 12)
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + Int64(day) - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}
