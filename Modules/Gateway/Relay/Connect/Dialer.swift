internal import Glibc
internal import NIOCore
internal import NIOPosix
internal import SallyportCore
internal import SallyportWire

/// Resolves a target, checks its addresses, and connects to one of them. Fails with ``RelayRefusal``.
struct Dialer: Sendable {
    struct Connection: Sendable {
        let channel: any Channel
        let address: IPAddress
    }

    /// How many addresses of a name are tried.
    static let addressLimit = 8

    let resolver: any NameResolver
    let check: AddressCheck
    let egress: IPAddress?
    let timeout: Duration
    let eventLoop: any EventLoop
    /// Completes when the client has left.
    let left: EventLoopFuture<Void>
    /// Called on the event loop before each connection is begun; throws if it is not wanted any more.
    let permit: @Sendable (IPAddress) throws(RelayRefusal) -> Void
    /// Called on the event loop with each connection that is about to be opened, so that it can be given up.
    let begins: @Sendable (any Channel, IPAddress) -> Void

    /// The connection is not read until `autoRead` is switched on.
    func dial(
        _ target: Endpoint, at address: IPAddress?, mayBeLocal: Bool, by rules: AddressRules
    ) -> EventLoopFuture<Connection> {
        let deadline = NIODeadline.now() + .nanoseconds(timeout.nanoseconds)
        return addresses(of: target.host, or: address, until: deadline).flatMap { addresses in
            do {
                try AddressCheck.check(addresses, of: target, by: rules)
                if !mayBeLocal { try check.check(addresses, port: target.port) }
                return connect(try reachable(addresses)[...], port: target.port, until: deadline)
            } catch {
                return eventLoop.makeFailedFuture(error)
            }
        }
    }

    private func addresses(
        of host: Host, or address: IPAddress?, until deadline: NIODeadline
    ) -> EventLoopFuture<[IPAddress]> {
        if let address { return eventLoop.makeSucceededFuture([address]) }
        switch host {
        case .address(let address): return eventLoop.makeSucceededFuture([address])
        case .name(let name): return resolve(name, until: deadline)
        }
    }

    private func resolve(_ name: String, until deadline: NIODeadline) -> EventLoopFuture<[IPAddress]> {
        resolver.addresses(of: name, on: eventLoop, until: deadline, orUntil: left)
            .flatMapErrorThrowing { throw Self.refusal(resolution: $0) }
    }

    /// The addresses of the egress address's family, at most ``addressLimit``.
    private func reachable(_ addresses: [IPAddress]) throws(RelayRefusal) -> [IPAddress] {
        guard !addresses.isEmpty else { throw Self.refusal(resolution: NameResolutionError.notFound) }
        let reachable = addresses.filter { egress == nil || egress?.bytes.count == $0.bytes.count }
        guard !reachable.isEmpty else {
            throw RelayRefusal(
                502, ProxyStatus.ErrorType.destinationIPUnroutable, "The egress address is of another family.")
        }
        return Array(reachable.prefix(Self.addressLimit))
    }

    /// Tries one address after the other, each with its share of the remaining time, as long as that is wanted.
    private func connect(
        _ addresses: ArraySlice<IPAddress>, port: UInt16, until deadline: NIODeadline
    ) -> EventLoopFuture<Connection> {
        let address = addresses[addresses.startIndex]
        do { try permit(address) } catch { return eventLoop.makeFailedFuture(error) }
        let left = max(deadline - .now(), .milliseconds(1))
        let share = TimeAmount.nanoseconds(left.nanoseconds / Int64(addresses.count))
        return bootstrap(to: address, timeout: share).connect(to: SocketAddress(address, port: port)).map {
            Connection(channel: $0, address: address)
        }.flatMapError { error in
            let rest = addresses.dropFirst()
            guard !rest.isEmpty, deadline > .now() else {
                return eventLoop.makeFailedFuture(Self.refusal(connecting: error))
            }
            return connect(rest, port: port, until: deadline)
        }
    }

    private func bootstrap(to address: IPAddress, timeout: TimeAmount) -> ClientBootstrap {
        let bootstrap = ClientBootstrap(group: eventLoop)
            .connectTimeout(timeout)
            .channelOption(.autoRead, value: false)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(DrainingCloseHandler())
                    begins(channel, address)
                }
            }
        guard let egress else { return bootstrap }
        // As without an egress address, the kernel chooses the port once it knows the server. If it did so before,
        // tunnels to all servers would share one range of ports, with all those that have ended in the last minute.
        return
            bootstrap
            .channelOption(.ipOption(NIOBSDSocket.Option(rawValue: IP_BIND_ADDRESS_NO_PORT)), value: 1)
            .bind(to: SocketAddress(egress, port: 0))
    }
}

extension Dialer {
    private static func refusal(resolution error: any Error) -> RelayRefusal {
        switch error as? NameResolutionError {
        case .timedOut: RelayRefusal(504, ProxyStatus.ErrorType.dnsTimeout, "The name was not resolved in time.")
        case .notFound: RelayRefusal(502, ProxyStatus.ErrorType.dnsError, "The name has no address.")
        case .failed, nil: RelayRefusal(502, ProxyStatus.ErrorType.dnsError, "The name could not be resolved.")
        }
    }

    private static func refusal(connecting error: any Error) -> RelayRefusal {
        if case .connectTimeout = error as? ChannelError {
            return RelayRefusal(504, ProxyStatus.ErrorType.connectionTimeout, "The server did not answer in time.")
        }
        switch (error as? IOError)?.errnoCode {
        case ECONNREFUSED:
            return RelayRefusal(502, ProxyStatus.ErrorType.connectionRefused, "The server refused the connection.")
        case ETIMEDOUT:
            return RelayRefusal(504, ProxyStatus.ErrorType.connectionTimeout, "The server did not answer in time.")
        case EADDRNOTAVAIL:
            return RelayRefusal(
                502, ProxyStatus.ErrorType.destinationIPUnroutable,
                "The relay lacks its egress address, or a free port for this server.")
        case ENETUNREACH, EHOSTUNREACH, EAFNOSUPPORT, EINVAL:
            return RelayRefusal(502, ProxyStatus.ErrorType.destinationIPUnroutable, "No way leads to the server.")
        default:
            return RelayRefusal(502, ProxyStatus.ErrorType.destinationUnavailable, "The server cannot be reached.")
        }
    }
}
