import SallyportBase
import SallyportCore
import Testing

@testable import SallyportKerberos

/// What is decided without a realm.
@Suite struct KerberosValuesTests {
    @Test(arguments: [
        ("ann@EXAMPLE.TEST", "ann", "EXAMPLE.TEST", "ann@EXAMPLE.TEST"),
        ("ann/admin@EXAMPLE.TEST", "ann/admin", "EXAMPLE.TEST", "ann/admin@EXAMPLE.TEST"),
        ("ann@corp.example@CORP.EXAMPLE", "ann@corp.example", "CORP.EXAMPLE", "ann\\@corp.example@CORP.EXAMPLE"),
        ("jürgen\\x@R", "jürgen\\x", "R", "jürgen\\\\x@R"),
        // To Swift, each of these marks is one character with what stands before it.
        ("a@\u{301}b@R", "a@\u{301}b", "R", "a\\@\u{301}b@R"),
        ("a\\\u{301}@R", "a\\\u{301}", "R", "a\\\\\u{301}@R"),
        ("a@\u{301}R", "a", "\u{301}R", "a@\u{301}R"),
    ])
    func aUserIsANameInARealm(text: String, name: String, realm: String, krb5: String) throws {
        let user = try KerberosUser(text)
        #expect(user.name.utf8.elementsEqual(name.utf8) && user.realm.utf8.elementsEqual(realm.utf8))
        #expect(user.krb5Name.utf8.elementsEqual(krb5.utf8))
        #expect(KerberosUser(krb5Name: krb5) == user)
    }

    /// krb5 escapes what a component may not have: `a/b` of one component is another user than `a/b` of two.
    @Test(arguments: ["a\\/b@R", "a\\tb@R", "a\\", "a", "@R", "a@R@S", "a@R\\/S", "a@"])
    func aNameOfKrb5ThatNoUserHasIsRefused(text: String) {
        #expect(KerberosUser(krb5Name: text) == nil)
    }

    @Test func namesOfOtherBytesAreOtherUsers() throws {
        #expect(try KerberosUser("é@R") != KerberosUser("e\u{301}@R"))
        #expect(try KerberosUser("ann@É") != KerberosUser("ann@E\u{301}"))
        #expect(try KerberosUser("é@R") == KerberosUser("é@R"))
    }

    @Test func equivalentNamesHaveDifferentHashes() throws {
        let (composed, decomposed) = (try KerberosUser("\u{e9}@R"), try KerberosUser("e\u{301}@R"))
        #expect(composed.hashValue != decomposed.hashValue)
        #expect(try composed.hashValue == KerberosUser("\u{e9}@R").hashValue)
    }

    @Test(arguments: [
        "", "ann", "@R", "ann@", "an n@R", "ann@R\n", "ann\0@R", "ann@R/x", "ann@R:1", "ann@a\\b", "ann@R/\u{301}x",
    ])
    func aNameWithoutARealmIsNotAUser(text: String) {
        #expect(throws: KerberosError(.invalidName, "")) { try KerberosUser(text) }
    }

    @Test func aUserNameOfTooManyBytesIsRefused() throws {
        let longest = String(repeating: "a", count: KerberosUser.maximumLength - 2) + "@R"
        #expect(try KerberosUser(longest).realm == "R")
        #expect(throws: KerberosError(.invalidName, "")) { try KerberosUser("a" + longest) }
    }

    @Test func anAnswerIsPutTogether() throws {
        for size in [1, 3, 4, 5, 300] {
            let bytes = KDCClient.framed([UInt8](repeating: 9, count: 200))
            var reader = AnswerReader(limit: 200)
            var whole: [UInt8]?
            for start in stride(from: 0, to: bytes.count, by: size) {
                #expect(whole == nil)
                whole = try reader.receive(Array(bytes[start..<min(start + size, bytes.count)]))
            }
            #expect(whole == [UInt8](repeating: 9, count: 200))
        }
    }

    @Test func anAnswerOfOneByteTooManyIsRefusedBeforeItArrives() {
        var reader = AnswerReader(limit: 200)
        #expect(throws: LoadError(.responseTooLarge, "")) { try reader.receive([0, 0, 0, 201]) }
        var reserved = AnswerReader(limit: 200)
        #expect(throws: LoadError(.responseTooLarge, "")) { try reserved.receive([0x80, 0, 0, 1]) }
        var empty = AnswerReader(limit: 200)
        #expect(throws: LoadError(.protocolViolation, "")) { try empty.receive([0, 0, 0, 0]) }
    }

    @Test func aRecordComesBack() throws {
        let owner = TicketOwner(principal: Principal("a\0b"), user: try KerberosUser("ann@R"))
        let record = TicketRecord(
            owner,
            [
                .init(service: nil, offset: -5, bytes: [1, 2]),
                .init(service: ServiceName(service: "HTTP", host: "a"), offset: 7, bytes: []),
            ])
        let read = try #require(TicketRecord(record.bytes))
        #expect(read.owner == owner && read.bytes == record.bytes)
        #expect(read.entries.map(\.offset) == [-5, 7] && read.entries[1].service?.host == "a")
        for count in 0..<record.bytes.count {
            // Where an entry ends, the record is a shorter one.
            guard let shorter = TicketRecord(Array(record.bytes.prefix(count))) else { continue }
            #expect(shorter.bytes.count == count && shorter.entries.count < 2)
        }
        #expect(TicketRecord([2] + record.bytes.dropFirst()) == nil)
    }

    // MARK: Where KDCs are

    private struct Names: NameLookup {
        var records: [ServiceRecord] = []
        var failure: LoadError?
        let asked = Lock<[String]>([])

        func services(of name: String) async throws(LoadError) -> [ServiceRecord] {
            asked.withLock { $0.append(name) }
            if let failure { throw failure }
            return records
        }
    }

    @Test func listedKDCsComeBeforeNames() async throws {
        let listed = try Endpoint("kdc.corp.example:750")
        let names = Names(records: [ServiceRecord(try Endpoint("other.example:88"))])
        let servers = RealmServers(names: names) { $0 == "CORP.EXAMPLE" ? [listed] : [] }
        #expect(try await servers.servers(of: "CORP.EXAMPLE") == [listed])
        #expect(names.asked.withLock { $0 }.isEmpty)
        #expect(try await servers.servers(of: "SUB.CORP.EXAMPLE").map(\.description) == ["other.example:88"])
        #expect(names.asked.withLock { $0 } == ["_kerberos._tcp.sub.corp.example"])
    }

    @Test func namesAreTriedByPriorityAndWeight() async throws {
        let records = [("c", 2, 0), ("b", 1, 10), ("a", 1, 90)].map { name, priority, weight in
            ServiceRecord(
                try! Endpoint("\(name).example:88"), priority: UInt16(priority), weight: UInt16(weight))
        }
        let found = try await RealmServers(names: Names(records: records)).servers(of: "EXAMPLE")
        #expect(found.map(\.host.description) == ["a.example", "b.example", "c.example"])
    }

    @Test func anUnknownRealmIsTakenForAHost() async throws {
        let refused = Names(failure: LoadError(.refusedByPolicy, ""))
        for names in [nil, Names(), refused] as [Names?] {
            let found = try await RealmServers(names: names).servers(of: "CORP.EXAMPLE")
            #expect(found.map(\.description) == ["corp.example:88"])
        }
        for realm in ["10.0.0.1", "2130706433", "..", "a b", "[::1]"] {
            #expect(try await RealmServers().servers(of: realm).isEmpty, "\(realm)")
        }
    }

    @Test func theKDCThatAnsweredLastIsTriedFirst() async throws {
        let servers = try ["a.example:88", "b.example:88", "c.example:88"].map { try Endpoint($0) }
        let answering = AnsweringKDCs()
        await answering.answered(servers[1], of: "R")
        #expect(await answering.ordered(servers, of: "R").servers == [servers[1], servers[0], servers[2]])
        #expect(await answering.ordered(servers, of: "S").servers == servers)
        #expect(await answering.ordered([servers[0]], of: "R").servers == [servers[0]], "it is no longer listed")
        await answering.failed(servers[0], of: "R")
        #expect(await answering.ordered(servers, of: "R").servers.first == servers[1])
        await answering.failed(servers[1], of: "R")
        #expect(await answering.ordered(servers, of: "R").servers == servers)
    }

    @Test func theOrderOfTheKDCsIsTriedAgainAfterAWhile() async throws {
        let servers = try ["a.example:88", "b.example:88"].map { try Endpoint($0) }
        let answering = AnsweringKDCs()
        let begun = ContinuousClock.now
        await answering.answered(servers[1], of: "R", at: begun)
        let late = begun + AnsweringKDCs.duration - Duration.seconds(1)
        await answering.answered(servers[1], of: "R", at: late)
        #expect(await answering.ordered(servers, of: "R", at: late).servers.first == servers[1])
        let over = begun + AnsweringKDCs.duration
        #expect(await answering.ordered(servers, of: "R", at: over).servers == servers)
        await answering.answered(servers[1], of: "R", at: over)
        #expect(await answering.ordered(servers, of: "R", at: over).servers.first == servers[1])
    }

    @Test func theKDCThatAnsweredLastHasHalfOfTheTime() async throws {
        let servers = try ["a.example:88", "b.example:88", "c.example:88"].map { try Endpoint($0) }
        let answering = AnsweringKDCs()
        let rest = Duration.seconds(12)
        let unknown = await answering.ordered(servers, of: "R")
        #expect((0..<3).map { unknown.share(of: rest, at: $0) } == [.seconds(4), .seconds(6), .seconds(12)])
        await answering.answered(servers[1], of: "R")
        let known = await answering.ordered(servers, of: "R")
        #expect((0..<3).map { known.share(of: rest, at: $0) } == [.seconds(6), .seconds(6), .seconds(12)])
        let only = await answering.ordered([servers[1]], of: "R")
        #expect(only.share(of: rest, at: 0) == rest)
    }

    // MARK: Errors

    @Test func aFailureOfTheCredentialIsToldFromOthers() {
        let refused: [KerberosError.Code] = [.wrongPassword, .unknownUser, .noTicket]
        for code in refused { #expect(KerberosError(code, "").asLoadError.code == .credentialRefused) }
        for code in [KerberosError.Code.kdcUnreachable, .clockSkew, .accountLocked, .passwordExpired, .store] {
            #expect(KerberosError(code, "").asLoadError.code == .kerberosFailed)
        }
        #expect(KerberosError(.delegationUnavailable, "").asLoadError.code == .delegationUnavailable)
        let cancelled = KerberosError(.kdcUnreachable, "", underlying: LoadError(.cancelled, ""))
        #expect(cancelled.asLoadError.code == .cancelled)
        let denied = KerberosError(.kdcUnreachable, "", underlying: LoadError(.refusedByPolicy, ""))
        #expect(denied.asLoadError.code == .kerberosFailed)
        #expect((denied.asLoadError.underlying as? KerberosError)?.code == .kdcUnreachable)
    }
}
