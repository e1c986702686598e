import SallyportCore
import SallyportEventLoop
import Testing

@testable import SallyportTransport

/// Which idle connections are kept, and which one is used next.
struct IdleConnectionsTests {
    private final class Connection: IdleConnection {
        let origin: Origin
        let idleSince: LoopInstant

        init(to host: String, since second: Int64) throws {
            let endpoint = try Endpoint(host: Host(host), port: 443)
            origin = Origin(endpoint: endpoint, isSecure: true, isHTTP1Only: false)
            idleSince = LoopInstant(nanoseconds: second * 1_000_000_000)
        }
    }

    @Test func theConnectionThatWasUsedLastIsUsedNext() throws {
        var idle = IdleConnections<Connection>(limit: 3)
        let (first, second) = (try Connection(to: "a.example", since: 1), try Connection(to: "a.example", since: 2))
        let other = try Connection(to: "b.example", since: 3)
        for connection in [first, second, other] { #expect(idle.keep(connection) == nil) }
        #expect(idle.take(to: first.origin) === second)
        #expect(idle.take(to: first.origin) === first)
        #expect(idle.take(to: first.origin) == nil)
        #expect(idle.count == 1 && idle.hasConnection(to: other.origin))
    }

    /// The server of the oldest connection is not visited again: such connections would otherwise fill the pool.
    @Test func aNewConnectionTakesThePlaceOfTheOneThatHasIdledLongest() throws {
        var idle = IdleConnections<Connection>(limit: 2)
        let (old, kept) = (try Connection(to: "a.example", since: 1), try Connection(to: "b.example", since: 2))
        for connection in [old, kept] { #expect(idle.keep(connection) == nil) }
        let new = try Connection(to: "c.example", since: 120)
        #expect(idle.keep(new) === old)
        #expect(idle.count == 2 && idle.take(to: old.origin) == nil)
        #expect(idle.take(to: kept.origin) === kept)
        #expect(idle.take(to: new.origin) === new)
    }

    @Test func theOldestOfConnectionsToOneServerMakesRoomToo() throws {
        var idle = IdleConnections<Connection>(limit: 2)
        let (old, kept) = (try Connection(to: "a.example", since: 1), try Connection(to: "a.example", since: 2))
        for connection in [old, kept] { #expect(idle.keep(connection) == nil) }
        let new = try Connection(to: "a.example", since: 3)
        #expect(idle.keep(new) === old)
        #expect(idle.all.map(\.idleSince) == [kept.idleSince, new.idleSince])
    }
}
