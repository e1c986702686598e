import SallyportCore
import Testing

struct InfrastructureBoardTests {
    @Test func tellsThePresentStateAndEachOther() async {
        let board = InfrastructureBoard()
        var changes = board.infrastructureChanges().makeAsyncIterator()
        #expect(await changes.next() == .unknown)
        board.set(.reachable)
        board.set(.reachable)
        #expect(await changes.next() == .reachable)
        board.set(.unreachable)
        #expect(await changes.next() == .unreachable && board.infrastructure == .unreachable)
        board.finish()
        #expect(await changes.next() == nil)
    }

    @Test func aSlowReaderSeesOnlyTheNewest() async {
        let board = InfrastructureBoard(.reachable)
        var changes = board.infrastructureChanges().makeAsyncIterator()
        for _ in 0..<1000 {
            board.set(.unreachable)
            board.set(.reachable)
        }
        #expect(await changes.next() == .reachable)
        board.finish()
        #expect(await changes.next() == nil)
    }

    @Test func aBoardThatIsGoneEndsItsSequences() async {
        var changes: AsyncStream<InfrastructureState>.Iterator
        do { changes = InfrastructureBoard().infrastructureChanges().makeAsyncIterator() }
        #expect(await changes.next() == .unknown)
        #expect(await changes.next() == nil)
    }
}
