import Glibc
import NIOCore
import NIOPosix
import SallyportCore
import Testing

@testable import SallyportGateway

/// The relay's own end of a connection to a server.
@Suite(.timeLimit(.minutes(1))) struct EgressTests {
    /// If the kernel chose the port before it knows the server, tunnels to all servers would share one range of ports.
    @Test func thePortAtTheEgressAddressIsChosenOnceTheServerIsKnown() async throws {
        let origin = try await TestOrigin()
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        let egress = try #require(IPAddress("127.0.0.7"))
        let dialer = Dialer(
            resolver: StubResolver(), check: AddressCheck(ownPorts: []), egress: egress, timeout: .seconds(10),
            eventLoop: loop, left: loop.makeSucceededVoidFuture(), permit: { _ in }, begins: { _, _ in })
        let connection = try await dialer.dial(
            Endpoint("127.0.0.1:\(origin.port)"), at: RelayFixture.loopback, mayBeLocal: true, by: .standard
        ).get()
        let channel = connection.channel
        let option = ChannelOptions.Types.SocketOption(
            level: .ip, name: NIOBSDSocket.Option(rawValue: IP_BIND_ADDRESS_NO_PORT))
        #expect(try await channel.getOption(option).get() == 1)
        #expect(try await origin.accept().channel.remoteAddress?.ipAddress == "127.0.0.7")
        channel.close(promise: nil)
        try await origin.close()
    }

    /// Not the server is at fault.
    @Test func anEgressAddressThatTheMachineDoesNotHaveIsNamed() async throws {
        try await RelayFixture.with(configure: { $0.egress = IPAddress("192.0.2.1") }) { fixture in
            let answer = try await fixture.refusal(connecting: "127.0.0.1:443")
            #expect(answer.hasPrefix("HTTP/1.1 502") && answer.contains("error=destination_ip_unroutable"))
            #expect(answer.contains("The relay lacks its egress address, or a free port for this server."))
        }
    }
}
