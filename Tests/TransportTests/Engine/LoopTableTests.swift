import Synchronization
import Testing

@testable import SallyportTransport

/// How other threads' handles lead to the objects of a loop.
struct LoopTableTests {
    private final class Name: LoopHandle {
        private let index = Atomic(-1)
        var place: Int {
            get { index.load(ordering: .relaxed) }
            set { index.store(newValue, ordering: .relaxed) }
        }
    }

    private final class Object: LoopObject {
        let handle = Name()
    }

    @Test func objectIsFoundByItsHandleUntilItIsRemoved() {
        var table = LoopTable<Object>()
        let objects = (0..<5).map { _ in Object() }
        for object in objects { table.insert(object) }
        #expect(objects.allSatisfy { table[$0.handle] === $0 } && table.count == 5)
        for (number, object) in objects.enumerated() {
            table.remove(object)
            #expect(table[object.handle] == nil && table.count == 4 - number)
            #expect(objects[(number + 1)...].allSatisfy { table[$0.handle] === $0 })
        }
    }

    @Test func objectThatIsNotThereIsNotRemoved() {
        var table = LoopTable<Object>()
        let (one, other) = (Object(), Object())
        table.insert(one)
        table.remove(other)
        #expect(table.count == 1 && table[other.handle] == nil)
        table.remove(one)
        table.remove(one)
        table.insert(other)
        #expect(table[one.handle] == nil && table[other.handle] === other)
    }
}
