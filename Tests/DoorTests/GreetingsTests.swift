import Testing

@testable import SallyportDoor

/// Which connection gives way if too many have not said yet where they lead.
struct GreetingsTests {
    @Test func theOldestOfAUserGivesWay() {
        var greetings = Greetings(limit: 2)
        #expect(greetings.add(1, of: .user(1), isAsked: false) == nil)
        #expect(greetings.add(2, of: .user(1), isAsked: false) == nil)
        #expect(greetings.add(3, of: .user(2), isAsked: false) == nil)
        #expect(greetings.add(4, of: .user(1), isAsked: false) == 1)
    }

    @Test func usersThatHaveToShowTheCredentialShareTheLimit() {
        var greetings = Greetings(limit: 3)
        for number: UInt64 in 1...3 {
            #expect(greetings.add(number, of: .user(UInt32(number % 2)), isAsked: true) == nil)
        }
        // Connections 1 and 3 are of one user, 2 of another.
        #expect(greetings.add(4, of: .unknown, isAsked: true) == 1)
        greetings.remove(1, of: .user(1))
        // Each has one: the oldest of all.
        #expect(greetings.add(5, of: .user(9), isAsked: true) == 2)
    }

    @Test func usersThatAreWelcomeTakeNoPartInThat() {
        var greetings = Greetings(limit: 2)
        #expect(greetings.add(1, of: .user(1), isAsked: false) == nil)
        #expect(greetings.add(2, of: .user(1), isAsked: false) == nil)
        #expect(greetings.add(3, of: .user(2), isAsked: true) == nil)
        #expect(greetings.add(4, of: .user(3), isAsked: true) == nil)
        #expect(greetings.add(5, of: .user(4), isAsked: true) == 3)
    }

    @Test func whatHasLeftMakesRoom() {
        var greetings = Greetings(limit: 1)
        #expect(greetings.add(1, of: .user(1), isAsked: true) == nil)
        greetings.remove(1, of: .user(1))
        greetings.remove(1, of: .user(1))
        #expect(greetings.add(2, of: .user(2), isAsked: true) == nil)
        #expect(greetings.add(3, of: .user(3), isAsked: true) == 2)
    }
}
