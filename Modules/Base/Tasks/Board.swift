/// A value that changes, and all who follow it: each sees the present value first, and the newest where it falls behind.
package final class Board<Value: Sendable & Equatable>: Sendable {
    private let followers: Followers<Value>

    package init(_ value: Value? = nil) { followers = Followers(keeping: value) }

    /// Nil before there is one.
    package var value: Value? { followers.kept.value }

    /// Tells all who follow, where the value is another.
    package func set(_ value: Value) { change { $0 = value } }

    package func change(_ change: (inout Value?) -> Void) {
        let isChanged = followers.keep { value in
            let before = value
            change(&value)
            return value != before
        }
        if isChanged { tell() }
    }

    /// Of two who tell at once, the one with the older value might be the later; it finds that out, and tells again.
    private func tell() {
        var told = followers.kept
        while let value = told.value {
            followers.tell(value)
            let present = followers.kept
            if present.version == told.version { return }
            told = present
        }
    }

    package func values() -> AsyncStream<Value> {
        followers.follow(buffering: .bufferingNewest(1)) { follower in
            // A change in between must not be overtaken by what was before it.
            var told: Value?
            while let present = value, present != told {
                follower.yield(present)
                told = present
            }
        }
    }

    /// Ends all streams; one that is asked for later has the last value, and ends.
    package func finish() { followers.finish() }
}
