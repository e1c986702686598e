import SallyportBase
import Testing

struct DurationTests {
    private static let cases: [(Duration, Int64)] = [
        (.zero, 0), (.nanoseconds(1), 1), (.seconds(60), 60_000_000_000), (.seconds(7200), 7_200_000_000_000),
        (Duration(secondsComponent: 1, attosecondsComponent: 999_999_999), 1_000_000_000),
        (Duration(secondsComponent: 0, attosecondsComponent: 1_999_999_999), 1),
        (Duration(secondsComponent: 9_000, attosecondsComponent: 1_999_999_999), 9_000_000_000_001),
        (Duration(secondsComponent: 0, attosecondsComponent: -1_999_999_999), -1), (.seconds(-60), -60_000_000_000),
        (.seconds(Int64.max), .max), (.seconds(Int64.min), .min),
    ]

    @Test(arguments: cases)
    func nanosecondsAreRoundedTowardZeroAndLimited(_ duration: Duration, _ nanoseconds: Int64) {
        #expect(duration.wholeNanoseconds == nanoseconds)
    }

    @Test func millisecondsAreRoundedTowardZero() {
        #expect(Duration.microseconds(1999).wholeMilliseconds == 1)
        #expect(Duration.microseconds(-1999).wholeMilliseconds == -1)
        #expect(Duration.seconds(7200).wholeMilliseconds == 7_200_000)
    }
}
