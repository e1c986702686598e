package import NIOCore
internal import NIOPosix
package import SallyportCore
package import SallyportWire

/// Asks one DNS server (RFC 1035): over UDP from a new port each time, and over TCP if the UDP answer was truncated.
package struct DNSResolver: NameResolver {
    /// How often a query is sent over UDP.
    package static let attempts = 2
    /// The time limit of each attempt.
    package static let timeout: TimeAmount = .seconds(2)
    /// The longest chain of aliases.
    package static let aliasLimit = 8

    private let server: SocketAddress

    package init(server: IPAddress, port: UInt16 = 53) { self.server = SocketAddress(server, port: port) }

    /// The addresses of a name, IPv6 after IPv4.
    package func addresses(of name: String, on eventLoop: any EventLoop) -> EventLoopFuture<[IPAddress]> {
        guard let question = DNSName(name) else { return eventLoop.makeFailedFuture(NameResolutionError.notFound) }
        let answers = [DNSMessage.RecordType.a, .aaaa].map { type in
            answer(to: DNSMessage(query: .init(question, type)), on: eventLoop).flatMapThrowing { answer in
                try Self.addresses(in: answer)
            }
        }
        return EventLoopFuture.whenAllComplete(answers, on: eventLoop).flatMapThrowing { results in
            let found = results.compactMap { try? $0.get() }.flatMap { $0 }
            guard found.isEmpty else { return found }
            for case .failure(let error) in results { throw error }
            throw NameResolutionError.notFound
        }
    }

    /// The server's answer to a query, whose id is replaced on the way and restored. Fails with
    /// ``NameResolutionError``.
    package func answer(to query: DNSMessage, on eventLoop: any EventLoop) -> EventLoopFuture<DNSMessage> {
        var sent = query
        sent.id = .random(in: 0...UInt16.max)
        return ask(sent, left: Self.attempts, on: eventLoop).flatMap { [sent] answer in
            answer.isTruncated ? askOverTCP(sent, on: eventLoop) : eventLoop.makeSucceededFuture(answer)
        }.flatMapThrowing { answer in
            // Over TCP, too: nothing is known of the records.
            guard !answer.isTruncated else { throw NameResolutionError.failed }
            var answer = answer
            answer.id = query.id
            return answer
        }
    }

    /// Follows the aliases from the question on; records of other names are ignored.
    static func addresses(in answer: DNSMessage) throws(NameResolutionError) -> [IPAddress] {
        switch answer.code {
        case .noError: break
        case .nameError: throw .notFound
        default: throw .failed
        }
        var name = answer.question.name
        for _ in 0...aliasLimit {
            let records = answer.answers.filter { $0.name == name }
            let addresses = records.compactMap { if case .address(let address) = $0.data { address } else { nil } }
            if !addresses.isEmpty { return addresses }
            let aliases = records.compactMap { if case .canonicalName(let name) = $0.data { name } else { nil } }
            guard let alias = aliases.first else { return [] }
            name = alias
        }
        throw .failed
    }
}

extension DNSResolver {
    private func ask(_ query: DNSMessage, left: Int, on eventLoop: any EventLoop) -> EventLoopFuture<DNSMessage> {
        let exchange = DNSExchange(query: query, answer: eventLoop.makePromise())
        DatagramBootstrap(group: eventLoop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(DNSDatagramHandler(exchange))
                }
            }
            .connect(to: server)
            .whenComplete { exchange.run(on: $0, over: .datagrams, for: Self.timeout) }
        return exchange.answer.futureResult.flatMapError { error in
            guard left > 1, error as? NameResolutionError == .timedOut else {
                return eventLoop.makeFailedFuture(error)
            }
            return ask(query, left: left - 1, on: eventLoop)
        }
    }

    private func askOverTCP(_ query: DNSMessage, on eventLoop: any EventLoop) -> EventLoopFuture<DNSMessage> {
        let exchange = DNSExchange(query: query, answer: eventLoop.makePromise())
        ClientBootstrap(group: eventLoop)
            .connectTimeout(Self.timeout)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(DNSStreamHandler(exchange))
                }
            }
            .connect(to: server)
            .whenComplete { exchange.run(on: $0, over: .stream, for: Self.timeout) }
        return exchange.answer.futureResult
    }
}
