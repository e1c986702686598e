import Dispatch
import Foundation
import NIOCore
import NIOPosix
import SallyportBase
import SallyportCore
import SallyportWire
import Testing

@testable import SallyportGateway

/// Which names instances may ask for, and what they are told (RFC 8484).
@Suite(.timeLimit(.minutes(1))) struct NameServiceTests {
    private static let inside = IPAddress.v4(0x0a00_0005)

    /// Answers all, and takes note of what it was asked.
    private final class Resolver: QueryResolver {
        let asked = Lock<[DNSMessage.Question]>([])
        let code: DNSMessage.ResponseCode?

        init(_ code: DNSMessage.ResponseCode? = .noError) { self.code = code }

        func answer(to query: DNSMessage, on eventLoop: any EventLoop) -> EventLoopFuture<DNSMessage> {
            asked.withLock { $0.append(query.question) }
            guard let code else { return eventLoop.makeFailedFuture(NameResolutionError.timedOut) }
            let record = DNSMessage.Record(query.question.name, timeToLive: 1, .address(inside))
            return eventLoop.makeSucceededFuture(DNSMessage(answering: query, code: code, answers: [record]))
        }
    }

    private func query(_ name: String, _ type: DNSMessage.RecordType = .a) throws -> DNSMessage {
        DNSMessage(query: .init(try #require(DNSName(name)), type), id: 7)
    }

    @Test func aNameThatThePolicyDoesNotRelayIsRefusedWithoutALookUp() async throws {
        let resolver = Resolver()
        let service = NameService(queries: resolver)
        for (name, type) in [
            ("a.example", DNSMessage.RecordType.a), ("_kerberos._tcp.a.example", .srv), ("_tcp", .srv), ("", .a),
            ("127.0.0.1", .a),
        ] {
            let answer = await service.answer(try query(name, type)) { _ in .refused }
            #expect(answer.code == .refused && answer.answers.isEmpty && answer.isResponse && answer.id == 7)
        }
        #expect(resolver.asked.withLock { $0.isEmpty })
    }

    @Test(arguments: ["_kerberos._tcp.a.example", "_a._b._c.A.Example", "a.example"])
    func aServiceIsJudgedWithoutItsLeadingLabels(_ name: String) async throws {
        let resolver = Resolver()
        let judged = Lock<[SallyportCore.Host]>([])
        let answer = await NameService(queries: resolver).answer(try query(name, .srv)) { host in
            judged.withLock { $0.append(host) }
            return .allowed
        }
        #expect(answer.code == .noError && answer.answers.count == 1)
        #expect(try judged.withLock { $0 } == [SallyportCore.Host("a.example")])
        #expect(resolver.asked.withLock { $0.map(\.name) } == [DNSName(name)])
    }

    /// The judged name is the one that is resolved: a spelling that reads as another name is refused, whatever route
    /// that name has.
    @Test(arguments: [
        "secret%2eallowed", "secret.%61llowed", "s%65cret.allowed", "xn--a.allowed", "-a.allowed", "a*.allowed",
        "0x7f.1", "2130706433", "1.2.3.4", "a.allowed:80", "[::1]", "a/b.allowed", "a@b.allowed", "_tcp", "a.0x1",
    ])
    func aNameInAnotherSpellingIsRefusedWithoutALookUp(_ name: String) async throws {
        let resolver = Resolver()
        for type in [DNSMessage.RecordType.a, .aaaa, .srv] where name != "_tcp" || type == .srv {
            let answer = await NameService(queries: resolver).answer(try query(name, type)) { _ in .allowed }
            #expect(answer.code == .refused && answer.answers.isEmpty, "\(name) \(type)")
        }
        #expect(resolver.asked.withLock { $0.isEmpty })
    }

    /// A service's labels do not belong to its host; in a question for an address, all labels do.
    @Test(arguments: [DNSMessage.RecordType.a, .aaaa]) func anAddressIsJudgedByItsWholeName(
        _ type: DNSMessage.RecordType
    ) async throws {
        let judged = Lock<[SallyportCore.Host]>([])
        let resolver = Resolver()
        _ = await NameService(queries: resolver).answer(try query("_tcp.A.example", type)) { host in
            judged.withLock { $0.append(host) }
            return .allowed
        }
        #expect(judged.withLock { $0 } == [.name("_tcp.a.example")])
        #expect(resolver.asked.withLock { $0.map(\.name) } == [DNSName("_tcp.a.example")])
    }

    @Test func configuredAddressesAreAnsweredWithoutAResolver() async throws {
        let resolver = Resolver()
        let service = NameService(queries: resolver)
        let answer = await service.answer(try query("a.example")) { _ in .address(Self.inside) }
        #expect(answer.answers.map(\.data) == [.address(Self.inside)])
        let other = await service.answer(try query("a.example", .aaaa)) { _ in .address(Self.inside) }
        #expect(other.code == .noError && other.answers.isEmpty)
        #expect(resolver.asked.withLock { $0.isEmpty })
        _ = await service.answer(try query("a.example", .srv)) { _ in .address(Self.inside) }
        #expect(resolver.asked.withLock { $0.count } == 1)
    }

    @Test func failedAndMissingNamesAreDistinguished() async throws {
        let failed = await NameService(queries: Resolver(nil)).answer(try query("a.example")) { _ in .allowed }
        #expect(failed.code == .serverFailure)
        let unknown = await NameService(queries: Resolver(.nameError)).answer(try query("a.example")) { _ in .allowed }
        #expect(unknown.code == .nameError)
        let answer = DNSMessage(answering: try query("a.example"))
        let refused = await NameService(queries: Resolver()).answer(answer) { _ in .allowed }
        #expect(refused.code == .formatError)
    }

    /// A look-up that has not begun by then is left out, so that those of later queries come to their turn.
    @Test func aNameThatIsNotResolvedInTimeIsAFailure() async throws {
        let silent = StubResolver(nil)
        let service = NameService(queries: SystemQueries(addresses: silent, limit: .milliseconds(50)))
        let answer = await service.answer(try query("a.example")) { _ in .allowed }
        #expect(answer.code == .serverFailure && silent.isWanted == false)
    }

    /// Nor the other way round: the threads are not the same.
    @Test func queriesDoNotWaitForTheNamesOfCONNECTs() async throws {
        let (loop, gate) = (MultiThreadedEventLoopGroup.singleton.any(), DispatchSemaphore(value: 0))
        let relayed = (0..<16).map { _ in
            SystemResolver().addresses(of: "localhost", on: loop) {
                gate.wait()
                return false
            }
        }
        defer { for _ in relayed { gate.signal() } }
        let answer = try await SystemQueries().answer(to: try query("localhost"), on: loop).get()
        #expect(answer.code == .noError && answer.answers.map(\.data).contains(.address(RelayFixture.loopback)))
    }

    @Test func theHostsNameServersAreThoseOfItsFile() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "resolv-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let text = "# nameserver 10.0.0.9\nsearch corp.example\nnameserver 10.0.0.1\nnameserver\t::1\nnameserver x\n"
        try (text + "nameserver 10.0.0.2\nnameserver 10.0.0.3\n").write(toFile: path, atomically: true, encoding: .utf8)
        let servers = SystemQueries(file: path).servers()
        #expect(servers.map(\.description) == ["10.0.0.1", "::1", "10.0.0.2"])
        #expect(SystemQueries(file: path + "-none").servers().isEmpty)
    }
}
