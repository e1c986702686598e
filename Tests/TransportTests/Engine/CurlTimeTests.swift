import Testing

@testable import SallyportTransport

/// Times as libcurl takes them. For others it keeps its defaults, without a word.
struct CurlTimeTests {
    @Test(arguments: [(Duration.zero, 1), (.microseconds(1999), 1), (.seconds(10), 10_000)])
    func aTimeHasAtLeastAMillisecond(_ time: Duration, _ milliseconds: Int) {
        #expect(time.curlMilliseconds == milliseconds)
    }

    @Test(arguments: [Duration.seconds(30 * 86_400), .seconds(Int64.max)])
    func aLongTimeFitsAnInt(_ time: Duration) {
        #expect(time.curlMilliseconds > 1_000_000_000 && time.curlMilliseconds <= Int(Int32.max))
    }
}
