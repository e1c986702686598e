import Testing

@testable import SallyportTransport

/// From how many bytes on the kernel reports a connection.
@Suite struct ReceiveThresholdTests {
    private static let portion = ReceiveThreshold.portion

    @Test func isRaisedOnlyWhileALongBodyComesFast() {
        var threshold = ReceiveThreshold()
        #expect(!threshold.hasRead(1000, missing: 10 << 20) && threshold.bytes == 1)
        #expect(threshold.hasRead(Self.portion, missing: 9 << 20) && threshold.bytes == Self.portion)
        #expect(!threshold.hasRead(Self.portion, missing: 8 << 20) && threshold.isRaised)
        #expect(threshold.hasRead(Self.portion, missing: 200 << 10) && threshold.bytes == 1)
        #expect(!threshold.hasRead(200 << 10, missing: 0) && !threshold.isRaised)
    }

    @Test func staysLowIfTheLengthIsNotKnown() {
        var threshold = ReceiveThreshold()
        #expect(!threshold.hasRead(Self.portion, missing: 0) && threshold.bytes == 1)
    }

    @Test func fallsIfNothingComesForAWhile() {
        var threshold = ReceiveThreshold()
        #expect(threshold.hasRead(Self.portion, missing: 9 << 20) && threshold.isRaised)
        #expect(!threshold.isDue() && threshold.isRaised)
        #expect(threshold.isDue() && threshold.bytes == 1)
        #expect(!threshold.hasRead(1, missing: 8 << 20) && !threshold.isRaised)
        #expect(threshold.hasRead(Self.portion, missing: 7 << 20) && threshold.isRaised)
    }
}
