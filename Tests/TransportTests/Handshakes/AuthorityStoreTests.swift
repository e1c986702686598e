import Foundation
import SallyportCore
import TestSupport
import Testing

@testable import SallyportTransport

/// Authorities are read once and shared by all pools that need them.
struct AuthorityStoreTests {
    private let authority: TestAuthority
    private let folder: TemporaryDirectory

    init() throws {
        authority = try TestAuthority()
        folder = try TemporaryDirectory()
    }

    private func contents(_ path: String? = nil) throws -> AuthorityStore.Contents {
        .init(system: path.flatMap { FileStamp($0) }, anchors: [try authority.der], lists: [])
    }

    @Test func equalContentsShareOneStore() throws {
        let first = try #require(AuthorityStore.of(contents()))
        #expect(try AuthorityStore.of(contents()) === first)
        var other = try contents()
        other.anchors.append(try TestAuthority().der)
        #expect(AuthorityStore.of(other) !== first)
        other = try contents()
        other.lists = [[1]]
        #expect(AuthorityStore.of(other) !== first, "what was revoked for one is no other's")
    }

    @Test func aStoreLivesAsLongAsItIsReferenced() throws {
        weak var seen: AuthorityStore?
        do {
            let store = try AuthorityStore.of(contents())
            seen = store
            withExtendedLifetime(store) { #expect(seen != nil) }
        }
        #expect(seen == nil)
    }

    @Test func aFileThatWasChangedIsReadAnew() throws {
        let path = try folder.write(authority.pem, to: "authorities.pem")
        let first = try #require(AuthorityStore.of(contents(path)))
        #expect(try AuthorityStore.of(contents(path)) === first)
        try folder.write(authority.pem + TestAuthority().pem, to: "authorities.pem")
        #expect(try AuthorityStore.of(contents(path)) !== first)
    }

    @Test func storesOfDifferentContentsShareOneReadingOfAFile() throws {
        let file = FileStamp(try folder.write(authority.pem + TestAuthority().pem, to: "authorities.pem"))
        let first = try #require(AuthorityStore.of(.init(system: file, anchors: [], lists: [])))
        #expect(first.count == 2)
        try FileManager.default.removeItem(atPath: folder.file("authorities.pem"))
        let more = try #require(
            AuthorityStore.of(.init(system: file, anchors: [try TestAuthority().der], lists: [])))
        #expect(more.count == 3)
        #expect(first.count == 2, "what one store has besides is no other's")
    }

    @Test func anUnreadableFileIsNotAnEmptySetOfAuthorities() throws {
        #expect(FileStamp(folder.file("none")) == nil)
        #expect(try AuthorityStore.of(contents(folder.write("nothing", to: "authorities.pem"))) == nil)
    }

    @Test func poolsShareTheSystems() throws {
        let (one, other) = (PoolAuthorities(.system, []), PoolAuthorities(.system, []))
        let store = try #require(one.current)
        #expect(other.current === store && one.current === store)
        #expect(PoolAuthorities(.systemAnd([try authority.der]), []).current !== store)
        #expect(PoolAuthorities(.only([]), []).current !== store)
    }
}
