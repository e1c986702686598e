import SallyportWire
import Testing

@testable import SallyportGateway

@Suite(.timeLimit(.minutes(1))) struct EventHubTests {
    private let ann = InstanceIdentifier()
    private let bob = InstanceIdentifier()

    private func hints(_ changes: GatewayChange...) -> ChangeHints {
        var hints = ChangeHints()
        for change in changes { hints.note(change) }
        return hints
    }

    /// All items of a stream until its end.
    private func items(of stream: AsyncStream<EventHub.Item>) async -> [String] {
        var items: [String] = []
        for await item in stream {
            switch item {
            case .event(let event): items.append(event.serverSentEvent.serialized)
            case .heartbeat: items.append("beat")
            }
        }
        return items
    }

    @Test func aHintReachesThoseWhomTheChangeConcerns() async {
        let hub = EventHub(start: 1)
        let streams = [await hub.begin(ann, lastEventID: nil), await hub.begin(bob, lastEventID: nil)]
        await hub.notify(hints(.instance(ann), .instance(ann)))
        await hub.notify(hints(.directory))
        await hub.beat()
        await hub.finish()
        #expect(await items(of: streams[0]).count == 3)
        #expect(await items(of: streams[1]).count == 2)
        #expect(await items(of: hub.begin(ann, lastEventID: nil)).isEmpty)
    }

    @Test func theNewestStreamTakesTheOldersPlace() async {
        let hub = EventHub(start: 1)
        let old = await hub.begin(ann, lastEventID: nil)
        let new = await hub.begin(ann, lastEventID: "7")
        #expect(await items(of: old).count == 1)
        await hub.finish()
        #expect(await items(of: new).count == 1, "it is told to fetch anew")
    }

    /// A stream that is not read is removed with the next heartbeat, but not the one that replaced it.
    @Test func aStreamWhoseClientHasGoneIsForgotten() async {
        let hub = EventHub(start: 1)
        _ = await hub.begin(ann, lastEventID: nil)
        await hub.beat()
        #expect(await hub.count == 0)
        let new = await hub.begin(ann, lastEventID: nil)
        await hub.beat()
        #expect(await hub.count == 1)
        await hub.finish()
        #expect(await items(of: new) == ["beat"])
    }

    @Test func hintsOfAPolicyCoverThoseOfInstances() {
        #expect(hints().isEmpty && hints(.identities, .tokenKeys).isEmpty)
        #expect(hints(.instance(ann), .directory) == hints(.directory, .instance(bob)))
        #expect(hints(.instance(ann), .instance(bob), .instance(ann)).instances == [ann, bob])
    }
}
