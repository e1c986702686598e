import SallyportURLLoading
import Testing

@testable import SallyportCommandLine

/// The line that shows how far a download has come.
struct ProgressBarTests {
    private static let half = TransferProgress(completed: 512 << 20, total: 1 << 30)

    @Test(arguments: [1, 5, 10, 30, 45, 62, 80, 200])
    func theLineIsShorterThanTheTerminalIsWide(_ columns: Int) {
        for progress in [Self.half, TransferProgress(completed: 1 << 40, total: nil), .init(completed: 0, total: 0)] {
            for rate in [nil, 0, 1, 4e6, 9e11] {
                let line = ProgressBar.line(progress, rate: rate, columns: columns)
                #expect(line.count < max(2, columns), "\(line)")
            }
        }
    }

    @Test func aWideTerminalShowsEverything() {
        let line = ProgressBar.line(Self.half, rate: Double(4 << 20), columns: 200)
        let bar = "[\(String(repeating: "=", count: 15))\(String(repeating: " ", count: 15))]"
        #expect(line == "\(bar) 50 %  512.0 MiB of 1.0 GiB  4.0 MiB/s  2:08 left")
    }

    @Test func aNarrowTerminalKeepsTheMostImportant() {
        #expect(ProgressBar.line(Self.half, rate: 4e6, columns: 6) == "50 %")
        #expect(ProgressBar.line(Self.half, rate: nil, columns: 30) == "50 %  512.0 MiB of 1.0 GiB")
    }

    @Test func withoutALengthThereIsNoBar() {
        let progress = TransferProgress(completed: 3 << 20, total: nil)
        #expect(ProgressBar.line(progress, rate: 1024, columns: 80) == "3.0 MiB  1.0 KiB/s")
    }

    @Test func theEndHasNoTimeLeft() {
        let line = ProgressBar.line(.init(completed: 100, total: 100), rate: 10, columns: 80)
        #expect(line.hasSuffix("100 %  100 B of 100 B  10 B/s"))
    }

    @Test(arguments: [(59.0, "59 s"), (61, "1:01"), (3700, "1:01:40"), (1e12, "99:59:59")])
    func theTimeLeftIsReadable(_ seconds: Double, _ text: String) {
        let progress = TransferProgress(completed: 0, total: Int64(1e15))
        let line = ProgressBar.line(progress, rate: 1e15 / seconds, columns: 200)
        #expect(line.hasSuffix("  \(text) left"), "\(line)")
    }
}
