import SallyportBase
import Testing

@Suite struct PublishedInstantTests {
    private let now = ContinuousClock.now

    @Test func itIsReadAsItWasSet() {
        let published = PublishedInstant()
        let before = published.value
        #expect(before == nil)
        for offset in [Duration.zero, .nanoseconds(1), .seconds(-30), .seconds(30), .seconds(86_400 * 365)] {
            published.set(now + offset)
            let value = published.value.map { abs(now.advanced(by: offset).duration(to: $0) / .nanoseconds(1)) }
            #expect(value ?? .infinity < 1.5)
        }
        published.set(nil)
        let after = published.value
        #expect(after == nil)
    }

    @Test func aTimeBeyondWhatItHoldsIsTheNearestThatItHolds() {
        let published = PublishedInstant()
        published.set(now + .seconds(Int64.max / 4))
        let latest = published.value ?? now
        published.set(now - .seconds(Int64.max / 4))
        let earliest = published.value ?? now
        #expect(latest > now + .seconds(86_400 * 365 * 200))
        #expect(earliest < now - .seconds(86_400 * 365 * 200))
    }
}

@Suite struct PlacesTests {
    @Test func threadsTakeAsManyAsThereAre() async {
        let places = Places()
        let taken = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<100 { group.addTask { places.take(of: 10) } }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(taken == 10 && places.taken == 10)
        places.free()
        #expect(places.take(of: 10) && !places.take(of: 10))
    }
}
