import NIOCore
import NIOPosix
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportWire
import Testing

@testable import SallyportGateway

/// A DNS server on loopback that answers each query by a function, in datagrams and in a stream.
private struct TestNameServer {
    typealias Answer = @Sendable (DNSMessage, _ isStream: Bool) -> [DNSMessage]

    let port: UInt16
    private let channels: [any Channel]

    /// - Parameter cut: how many bytes are missing at the end of a datagram that has answers.
    init(cutting cut: Int = 0, _ answer: @escaping Answer) async throws {
        for _ in 0..<20 {
            let datagrams = try await Self.datagrams(answer, cutting: cut)
            let port = UInt16(datagrams.localAddress?.port ?? 0)
            // A port that is free for UDP may be in use for TCP.
            if let stream = try? await Self.stream(answer, port: port) {
                (self.port, channels) = (port, [datagrams, stream])
                return
            }
            try await datagrams.close().get()
        }
        throw TestFailure("No port is free for both.")
    }

    private static func datagrams(_ answer: @escaping Answer, cutting cut: Int) async throws -> any Channel {
        try await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(DatagramHandler(answer, cutting: cut))
                }
            }
            .bind(to: SocketAddress(RelayFixture.loopback, port: 0)).get()
    }

    private static func stream(_ answer: @escaping Answer, port: UInt16) async throws -> any Channel {
        try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(StreamHandler(answer))
                }
            }
            .bind(to: SocketAddress(RelayFixture.loopback, port: port)).get()
    }

    func close() async throws { for channel in channels { try await channel.close().get() } }

    private final class DatagramHandler: ChannelInboundHandler {
        typealias InboundIn = AddressedEnvelope<ByteBuffer>
        typealias OutboundOut = AddressedEnvelope<ByteBuffer>
        let answer: Answer
        let cut: Int
        init(_ answer: @escaping Answer, cutting cut: Int) { (self.answer, self.cut) = (answer, cut) }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let envelope = unwrapInboundIn(data)
            guard let query = try? DNSMessage(parsing: Array(envelope.data.readableBytesView)) else { return }
            for message in answer(query, false) {
                guard let bytes = try? message.serialized().dropLast(message.answers.isEmpty ? 0 : cut) else { return }
                let reply = AddressedEnvelope(remoteAddress: envelope.remoteAddress, data: ByteBuffer(bytes: bytes))
                context.writeAndFlush(wrapOutboundOut(reply), promise: nil)
            }
        }
    }

    private final class StreamHandler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        let answer: Answer
        init(_ answer: @escaping Answer) { self.answer = answer }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = Array(unwrapInboundIn(data).readableBytesView.dropFirst(2))
            guard let query = try? DNSMessage(parsing: bytes) else { return }
            for bytes in answer(query, true).compactMap({ try? $0.serialized() }) {
                // In two pieces, since a stream promises nothing about them.
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(integer: UInt16(bytes.count))), promise: nil)
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
            }
        }
    }
}

@Suite(.timeLimit(.minutes(1))) struct DNSResolverTests {
    private static let inside = IPAddress.v4(0x0a00_0005)

    private static func record(_ query: DNSMessage, _ address: IPAddress = inside) -> [DNSMessage.Record] {
        guard query.question.type == .a else { return [] }
        return [.init(query.question.name, timeToLive: 1, .address(address))]
    }

    private func resolve(
        _ name: String = "a.example", cutting cut: Int = 0,
        _ answer: @escaping @Sendable (DNSMessage, Bool) -> [DNSMessage]
    ) async throws -> [IPAddress] {
        let server = try await TestNameServer(cutting: cut, answer)
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        let result: Result<[IPAddress], any Error>
        do {
            result = .success(
                try await DNSResolver(server: RelayFixture.loopback, port: server.port).addresses(of: name, on: loop)
                    .get())
        } catch { result = .failure(error) }
        try await server.close()
        return try result.get()
    }

    @Test func findsAddresses() async throws {
        let found = try await resolve { query, _ in [DNSMessage(answering: query, answers: Self.record(query))] }
        #expect(found == [Self.inside])
    }

    @Test func followsAliasesAndBelievesNoOtherName() async throws {
        let found = try await resolve { query, _ in
            guard let alias = DNSName("b.example"), let other = DNSName("c.example") else { return [] }
            let records: [DNSMessage.Record] = [
                .init(other, timeToLive: 1, .address(.v4(1))),
                .init(alias, timeToLive: 1, .address(Self.inside)),
                .init(query.question.name, timeToLive: 1, .canonicalName(alias)),
            ]
            return [DNSMessage(answering: query, answers: query.question.type == .a ? records : [])]
        }
        #expect(found == [Self.inside])
    }

    @Test func forgedAnswersArePassedOver() async throws {
        let found = try await resolve { query, _ in
            var forged = DNSMessage(answering: query, answers: Self.record(query, .v4(1)))
            forged.id &+= 1
            return [forged, DNSMessage(answering: query, answers: Self.record(query))]
        }
        #expect(found == [Self.inside])
    }

    @Test func aTruncatedAnswerIsFetchedOverTCP() async throws {
        let found = try await resolve { query, isStream in
            var answer = DNSMessage(answering: query, answers: isStream ? Self.record(query) : [])
            answer.isTruncated = !isStream
            return [answer]
        }
        #expect(found == [Self.inside])
    }

    /// A server may cut anywhere, and leave the counts of the whole answer (RFC 2181 §9).
    @Test(arguments: [1, 4, 20]) func anAnswerThatIsCutWithinARecordIsFetchedOverTCP(_ missing: Int) async throws {
        let found = try await resolve(cutting: missing) { query, isStream in
            var answer = DNSMessage(answering: query, answers: Self.record(query))
            answer.isTruncated = !isStream
            return [answer]
        }
        #expect(found == [Self.inside])
    }

    @Test func anAnswerThatIsTruncatedOverTCPTooIsNoAnswer() async throws {
        await #expect(throws: NameResolutionError.failed) {
            try await resolve { query, _ in
                var answer = DNSMessage(answering: query, answers: Self.record(query))
                answer.isTruncated = true
                return [answer]
            }
        }
    }

    @Test(arguments: [
        (DNSMessage.ResponseCode.nameError, NameResolutionError.notFound), (.serverFailure, .failed),
        (.refused, .failed), (.noError, .notFound),
    ])
    func failuresAreNamed(code: DNSMessage.ResponseCode, error: NameResolutionError) async throws {
        await #expect(throws: error) { try await resolve { query, _ in [DNSMessage(answering: query, code: code)] } }
    }

    @Test func aRingOfAliasesEnds() async throws {
        await #expect(throws: NameResolutionError.failed) {
            try await resolve { query, _ in
                let name = query.question.name
                return [DNSMessage(answering: query, answers: [.init(name, timeToLive: 1, .canonicalName(name))])]
            }
        }
    }

    @Test func theIdOfAQueryComesBack() async throws {
        let server = try await TestNameServer { query, _ in [DNSMessage(answering: query)] }
        let question = DNSMessage.Question(try #require(DNSName("a.example")), .srv)
        let answer = try await DNSResolver(server: RelayFixture.loopback, port: server.port)
            .answer(to: DNSMessage(query: question, id: 77), on: MultiThreadedEventLoopGroup.singleton.any()).get()
        #expect(answer.id == 77)
        #expect(answer.question == question)
        try await server.close()
    }

    @Test func theSystemKnowsLocalhost() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        let found = try await SystemResolver().addresses(of: "localhost", on: loop).get()
        #expect(found.contains(RelayFixture.loopback))
        await #expect(throws: NameResolutionError.self) {
            try await SystemResolver().addresses(of: "no-such-name.invalid", on: loop).get()
        }
    }

    @Test func theFirstLookUpAsksForTheThreads() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        let calls = Lock(0)
        let resolver = SystemResolver(threads: {
            calls.withLock { $0 += 1 }
            return NIOThreadPool.singleton
        })
        #expect(calls.withLock { $0 } == 0)
        #expect(try await resolver.addresses(of: "localhost", on: loop).get().contains(RelayFixture.loopback))
        #expect(calls.withLock { $0 } == 1)
    }

    @Test func aNameThatIsNotWaitedForIsNotLookedUp() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        await #expect(throws: NameResolutionError.timedOut) {
            try await SystemResolver().addresses(of: "localhost", on: loop, while: { false }).get()
        }
    }
}
