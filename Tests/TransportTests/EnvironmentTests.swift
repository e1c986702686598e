import Glibc
import HTTPTypes
import SallyportCore
import SallyportTransport
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct EnvironmentTests {
    /// In a process of its own, since libcurl reads some of the environment once, when it is first used.
    @Test func proxiesAndKeyLogsOfTheEnvironmentHaveNoEffect() async {
        await #expect(processExitsWith: .success) {
            let log = "/tmp/sallyport-keylog-\(getpid())"
            let trap = try TestServer { _ in }
            for name in ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
                setenv(name, "http://127.0.0.1:\(trap.port)", 1)
            }
            setenv("NO_PROXY", "*", 1)
            setenv("no_proxy", "*", 1)
            setenv("SSLKEYLOGFILE", log, 1)
            let world = try World()
            let origin = try TestServer {
                world.originTLS.accept($0)?.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            }
            let relay = try world.relay()
            let transport = Transport()
            let direct = try ConnectionPath(trust: .only([world.origin.der]))
            for path in [direct, try world.path(relay)] {
                let response = try await transport.exchange(.init(.get, origin.url(scheme: "https")), via: path)
                try #require(response.head.status == .ok)
            }
            try #require(trap.acceptedConnections == 0)
            try #require(relay.acceptedConnections == 1)
            try #require(access(log, F_OK) != 0)
            try #require(getenv("SSLKEYLOGFILE") != nil)
            await transport.shutdown()
            // Without what is done at an exit: the servers' threads end at this very moment, and what libcrypto keeps
            // for each would look like a leak.
            _exit(EXIT_SUCCESS)
        }
    }
}
