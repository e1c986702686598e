/// The connections whose programs have not been let in yet, and which of them gives way to a new one.
///
/// Each user has its own list, so that one user's silent connections take no place of another's. A program that has
/// to show the credential may be of any user, and one person may have many users: those lists share one limit.
struct Greetings: Sendable {
    private struct List {
        let isAsked: Bool
        /// The oldest first.
        var numbers: [UInt64] = []
    }

    private let limit: Int
    private var lists: [Visitor: List] = [:]
    /// The number of connections in all lists of users that have to show the credential.
    private var askedCount = 0

    init(limit: Int) { self.limit = limit }

    /// Adds a connection, whose number is higher than those before.
    ///
    /// - Parameter isAsked: whether the user has to show the credential; the same for all connections of a user.
    /// - Returns: the connection that has to give way, which stays here until it is removed; nil while there is room.
    mutating func add(_ number: UInt64, of visitor: Visitor, isAsked: Bool) -> UInt64? {
        var list = lists.removeValue(forKey: visitor) ?? List(isAsked: isAsked)
        list.numbers.append(number)
        lists[visitor] = list
        if isAsked { askedCount += 1 }
        if list.numbers.count > limit { return list.numbers.first }
        return isAsked && askedCount > limit ? oldestOfTheMost() : nil
    }

    /// The oldest connection of that user who has most of those that have to show the credential. Among users with
    /// equally many, the one with the oldest connection.
    private func oldestOfTheMost() -> UInt64? {
        var most: [UInt64] = []
        for list in lists.values where list.isAsked && list.numbers.count >= most.count {
            guard let oldest = list.numbers.first else { continue }
            if list.numbers.count > most.count || oldest < most[0] { most = list.numbers }
        }
        return most.first
    }

    /// Does nothing for a connection that is not here.
    mutating func remove(_ number: UInt64, of visitor: Visitor) {
        guard var list = lists[visitor], let index = list.numbers.firstIndex(of: number) else { return }
        list.numbers.remove(at: index)
        lists[visitor] = list.numbers.isEmpty ? nil : list
        if list.isAsked { askedCount -= 1 }
    }
}
