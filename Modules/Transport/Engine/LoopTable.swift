/// What other threads have of an object that belongs to a loop.
protocol LoopHandle: AnyObject, Sendable {
    /// The object's place in the table of its loop; set by the table.
    var place: Int { get set }
}

/// An object that only its loop uses, and that other threads name by its handle.
protocol LoopObject: AnyObject {
    associatedtype Handle: LoopHandle
    var handle: Handle { get }
}

/// The objects of one kind that a loop has. Each handle knows the place of its object, so that none is hashed. A value,
/// on the loop only: what other threads post are handles, and an object that has ended is not found by its handle.
struct LoopTable<Object: LoopObject> {
    private var list: [Object] = []

    var count: Int { list.count }

    subscript(handle: Object.Handle) -> Object? {
        let place = handle.place
        guard place >= 0, place < list.count, list[place].handle === handle else { return nil }
        return list[place]
    }

    /// - Parameter object: not in the table yet.
    mutating func insert(_ object: Object) {
        object.handle.place = list.count
        list.append(object)
    }

    mutating func remove(_ object: Object) {
        let place = object.handle.place
        guard place >= 0, place < list.count, list[place] === object else { return }
        object.handle.place = -1
        let moved = list.removeLast()
        guard place < list.count else { return }
        list[place] = moved
        moved.handle.place = place
    }
}
