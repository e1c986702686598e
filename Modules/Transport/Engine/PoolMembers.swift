/// The running and the waiting members of a pool. Each knows its place, so that none is hashed. On the loop only.
struct PoolMembers {
    private var list: [any PoolMember] = []

    var isEmpty: Bool { list.isEmpty }
    /// In no particular order.
    var all: [any PoolMember] { list }

    func contains(_ member: any PoolMember) -> Bool { place(of: member) != nil }

    private func place(of member: any PoolMember) -> Int? {
        guard let place = member.attempt.place, place < list.count, list[place] === member else { return nil }
        return place
    }

    /// - Parameter member: not a member yet, of this pool or another.
    mutating func insert(_ member: any PoolMember) {
        member.attempt.place = list.count
        list.append(member)
    }

    mutating func remove(_ member: any PoolMember) {
        guard let place = place(of: member) else { return }
        member.attempt.place = nil
        let moved = list.removeLast()
        guard place < list.count else { return }
        list[place] = moved
        moved.attempt.place = place
    }
}
