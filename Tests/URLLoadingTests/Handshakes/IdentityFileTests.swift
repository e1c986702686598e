import Glibc
import SallyportBase
import SallyportCore
import SallyportURLLoading
import TestSupport
import Testing

/// Identities from files, as other programs write them.
@Suite(.timeLimit(.minutes(1)))
struct IdentityFileTests {
    private let folder: TemporaryDirectory
    private let identity: TestIdentity
    private let authority: TestAuthority

    init() throws {
        folder = try TemporaryDirectory()
        authority = try TestAuthority()
        identity = try authority.client()
        try folder.write(identity.pem + authority.pem, to: "client.pem")
        try folder.write(identity.keyPEM, to: "client.key")
        try folder.write(identity.pem + identity.keyPEM, to: "both.pem")
    }

    private func openssl(_ arguments: String...) async throws {
        let result = try await ChildProcess("/usr/bin/openssl", arguments).outcome()
        #expect(result.status == 0, "\(result.error)")
    }

    private func code(_ make: () throws -> ClientIdentity) -> LoadError.Code? {
        do {
            _ = try make()
            return nil
        } catch { return (error as? LoadError)?.code }
    }

    @Test func certificatesAndKeyInOneFileOrTwo() throws {
        let two = try ClientIdentity.pem(certificates: folder.file("client.pem"), key: folder.file("client.key"))
        #expect(try two.certificates == [identity.der, authority.der])
        let one = try ClientIdentity.pem(certificates: folder.file("both.pem"))
        #expect(try one.certificates == [identity.der] && one.privateKey == two.privateKey)
    }

    @Test func anEncryptedKeyTakesItsPassword() async throws {
        try await openssl(
            "pkcs8", "-topk8", "-in", folder.file("client.key"), "-out", folder.file("secret.key"), "-passout",
            "pass:sésame")
        let (chain, key) = (folder.file("client.pem"), folder.file("secret.key"))
        let plain = try ClientIdentity.pem(certificates: chain, key: folder.file("client.key"))
        #expect(try ClientIdentity.pem(certificates: chain, key: key, password: Redacted("sésame")) == plain)
        for password in [nil, Redacted("other")] as [Redacted<String>?] {
            #expect(code { try .pem(certificates: chain, key: key, password: password) } == .fileSystem)
        }
    }

    @Test func aPKCS12FileHasChainAndKey() async throws {
        try await openssl(
            "pkcs12", "-export", "-inkey", folder.file("client.key"), "-in", folder.file("client.pem"), "-out",
            folder.file("client.p12"), "-passout", "pass:secret")
        let file = folder.file("client.p12")
        let read = try ClientIdentity.pkcs12(file: file, password: Redacted("secret"))
        #expect(try read.certificates == [identity.der, authority.der])
        #expect(try read.privateKey == ClientIdentity.pem(certificates: folder.file("both.pem")).privateKey)
        #expect(code { try .pkcs12(file: file, password: Redacted("other")) } == .fileSystem)
        #expect(code { try .pkcs12(file: folder.file("client.pem"), password: Redacted("secret")) } == .fileSystem)
    }

    @Test func aFileHasALimitAndIsNoPipe() throws {
        let (chain, fifo) = (folder.file("client.pem"), folder.file("fifo"))
        try #require(mkfifo(fifo, 0o600) == 0)
        for path in [fifo, "/dev/zero"] {
            #expect(code { try .pem(certificates: path, key: folder.file("client.key")) } == .fileSystem)
            #expect(code { try .pem(certificates: chain, key: path) } == .fileSystem)
            #expect(code { try .pkcs12(file: path, password: Redacted("secret")) } == .fileSystem)
        }
        let long = try folder.write(String(repeating: "\n", count: (4 << 20) + 1), to: "long")
        let error = #expect(throws: LoadError.self) { try ClientIdentity.pem(certificates: chain, key: long) }
        #expect(error?.message == "\(long), the file of an identity, is longer than 4 MiB.")
    }

    @Test func anothersKeyIsRefused() throws {
        try folder.write(authority.client().keyPEM, to: "other.key")
        #expect(
            code { try .pem(certificates: folder.file("client.pem"), key: folder.file("other.key")) } == .fileSystem)
        #expect(code { try .pem(certificates: folder.file("client.key")) } == .fileSystem)
        #expect(code { try .pem(certificates: folder.file("absent")) } == .fileSystem)
    }
}
