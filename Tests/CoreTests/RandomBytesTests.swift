import SallyportBase
import Testing

@Suite struct RandomBytesTests {
    @Test(arguments: [0, 1, 7, 8, 9, 16, 33])
    func thereAreAsManyAsWereAskedFor(_ count: Int) {
        #expect([UInt8].random(count: count).count == count)
    }

    @Test func eachCallMakesOthers() {
        let made = Set((0..<100).map { _ in [UInt8].random(count: 12) })
        #expect(made.count == 100)
    }

    @Test func theLastBytesAreRandomToo() {
        let last = Set((0..<200).map { _ in [UInt8].random(count: 9)[8] })
        #expect(last.count > 1)
    }
}
