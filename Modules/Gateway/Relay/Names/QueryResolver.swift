internal import Foundation
internal import Glibc
package import NIOCore
internal import SallyportCore
package import SallyportWire

/// Answers the DNS queries of instances.
package protocol QueryResolver: Sendable {
    /// The answer, with the query's own id. Fails with ``NameResolutionError``.
    func answer(to query: DNSMessage, on eventLoop: any EventLoop) -> EventLoopFuture<DNSMessage>
}

extension DNSResolver: QueryResolver {}

/// The host's resolver, for queries: `getaddrinfo` for addresses, so that an instance gets the addresses that CONNECT
/// uses, and the name servers of `/etc/resolv.conf` for everything else.
package struct SystemQueries: QueryResolver {
    /// The limit of resolv.conf(5).
    private static let serverLimit = 3
    /// The lifetime of addresses, which `getaddrinfo` does not provide; in seconds.
    private static let timeToLive: UInt32 = 30

    private let addresses: any NameResolver
    private let limit: TimeAmount
    private let file: String

    /// - Parameters:
    ///   - limit: how long `getaddrinfo` may take, the wait for a thread included.
    ///   - file: in the form of resolv.conf(5).
    package init(
        addresses: any NameResolver = SystemResolver.ofQueries, limit: TimeAmount = .seconds(5),
        file: String = "/etc/resolv.conf"
    ) {
        self.addresses = addresses
        self.limit = limit
        self.file = file
    }

    package func answer(to query: DNSMessage, on eventLoop: any EventLoop) -> EventLoopFuture<DNSMessage> {
        let question = query.question
        guard question.type == .a || question.type == .aaaa else {
            return ask(servers()[...], query, on: eventLoop)
        }
        let deadline = NIODeadline.now() + limit
        return addresses.addresses(of: question.name.description, on: eventLoop, until: deadline).map { found in
            let length = question.type == .a ? 4 : 16
            let records = found.filter { $0.bytes.count == length }.map { address in
                DNSMessage.Record(question.name, timeToLive: Self.timeToLive, .address(address))
            }
            return DNSMessage(answering: query, answers: records)
        }.flatMapErrorThrowing { error in
            guard error as? NameResolutionError == .notFound else { throw error }
            return DNSMessage(answering: query, code: .nameError)
        }
    }

    /// One after the other, until one answers.
    private func ask(
        _ servers: ArraySlice<IPAddress>, _ query: DNSMessage, on eventLoop: any EventLoop
    ) -> EventLoopFuture<DNSMessage> {
        guard let server = servers.first else { return eventLoop.makeFailedFuture(NameResolutionError.failed) }
        return DNSResolver(server: server).answer(to: query, on: eventLoop).flatMapError { error in
            guard servers.count > 1 else { return eventLoop.makeFailedFuture(error) }
            return ask(servers.dropFirst(), query, on: eventLoop)
        }
    }

    /// Read for each query, because the host's network may have changed.
    func servers() -> [IPAddress] {
        let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
        let found = text.split(separator: "\n").compactMap { line -> IPAddress? in
            let words = line.split(whereSeparator: \.isWhitespace)
            guard words.count >= 2, words[0] == "nameserver" else { return nil }
            return IPAddress(String(words[1]))
        }
        return Array(found.prefix(Self.serverLimit))
    }
}
