import Glibc
import SallyportBase
import Testing

@testable import SallyportDoor

/// Which programs may come in.
struct AdmissionTests {
    @Test func ownAndListedUsersNeedNothing() {
        let admission = Admission(owner: 1000, allowedUsers: [33])
        #expect(admission.answer(to: .user(1000)) == .welcome && admission.answer(to: .user(33)) == .welcome)
        #expect(admission.answer(to: .user(0)) == .refused && admission.answer(to: .unknown) == .refused)
    }

    @Test func allOthersNeedTheCredentialIfThereIsOne() {
        let credential = DoorCredential()
        let admission = Admission(owner: 1000, allowedUsers: [], credential: credential)
        #expect(admission.answer(to: .user(1000)) == .welcome)
        #expect(admission.answer(to: .user(0)) == .onlyWith(credential))
        #expect(admission.answer(to: .unknown) == .onlyWith(credential))
    }

    /// No protocol is spoken at a forwarded place.
    @Test func othersAreRefusedIfTheCredentialCannotBeShown() {
        let admission = Admission(owner: 1000, allowedUsers: [], credential: DoorCredential())
        #expect(admission.answer(to: .user(1000), askingForCredential: false) == .welcome)
        #expect(admission.answer(to: .user(0), askingForCredential: false) == .refused)
        #expect(admission.answer(to: .unknown, askingForCredential: false) == .refused)
    }

    @Test func credentialsAreOf256BitsAndNeedNoEscaping() throws {
        let credential = DoorCredential()
        let text = credential.password.reveal()
        #expect(text.utf8.count == 43 && credential != DoorCredential())
        #expect(try DoorCredential(text) == credential && credential.matches(Array(text.utf8)))
        #expect(!credential.matches(Array(text.utf8.dropLast())) && !credential.matches([]))
        for bad in ["", "short", String(repeating: "a", count: 42), String(repeating: "a", count: 256)] {
            #expect(throws: DoorError.self) { try DoorCredential(bad) }
        }
        #expect(throws: DoorError.self) { try DoorCredential(String(repeating: "a", count: 43) + ":") }
        #expect("\(credential)".contains("redacted") && !"\(credential)".contains(text))
    }

    /// The kernel reports a socket that is closed as one of user 0, who may be the owner.
    @Test func aClosedSocketHasNoUser() throws {
        let listener = try ListeningSocket(.loopback(), isForAll: false)
        defer { listener.close() }
        var users = PeerUsers()
        for _ in 0..<200 {
            let client = try DoorClient(to: listener.place)
            let connection = accept(listener.descriptor, nil, nil)
            #expect(users.visitor(at: connection, overTCP: true) == .user(geteuid()))
            client.end()
            #expect(users.visitor(at: connection, overTCP: true) == .unknown)
            close(connection)
        }
    }

    /// It may do so before the door takes the connection, and then waits for its answer.
    @Test func aProgramThatHasEndedItsSideKeepsItsUser() throws {
        let listener = try ListeningSocket(.loopback(), isForAll: false)
        defer { listener.close() }
        var users = PeerUsers()
        let client = try DoorClient(to: listener.place)
        client.endSending()
        let connection = accept(listener.descriptor, nil, nil)
        defer { close(connection) }
        #expect(users.visitor(at: connection, overTCP: true) == .user(geteuid()))
        let isOpen = !users.isClosed(at: connection)
        client.end()
        let isClosed = users.isClosed(at: connection)
        #expect(isOpen && isClosed)
    }

    /// As for a door in a user namespace that does not map the program's user.
    @Test func theNumberThatManyUsersHaveIsNoUser() throws {
        let listener = try ListeningSocket(.loopback(), isForAll: false)
        defer { listener.close() }
        let client = try DoorClient(to: listener.place)
        let connection = accept(listener.descriptor, nil, nil)
        var pair: [Int32] = [-1, -1]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        defer { for descriptor in pair + [connection] { close(descriptor) } }
        var users = PeerUsers(overflow: geteuid())
        #expect(users.visitor(at: connection, overTCP: true) == .unknown)
        #expect(users.visitor(at: pair[0], overTCP: false) == .unknown)
        withExtendedLifetime(client) {}
    }

    @Test func aUnixSocketNamesTheUserThatConnected() throws {
        var pair: [Int32] = [-1, -1]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        defer { for descriptor in pair { close(descriptor) } }
        var users = PeerUsers()
        #expect(users.visitor(at: pair[0], overTCP: false) == .user(geteuid()))
        #expect(users.visitor(at: pair[0], overTCP: true) == .unknown)
    }
}
