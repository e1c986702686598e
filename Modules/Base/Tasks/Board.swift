/// A changing value and its observers: each receives the current value first, and skips to the newest if it falls
/// behind.
package final class Board<Value: Sendable & Equatable>: Sendable {
    private let followers: Followers<Value>

    package init(_ value: Value? = nil) { followers = Followers(keeping: value) }

    /// Nil until a value is set.
    package var value: Value? { followers.kept.value }

    /// Sets the value and, if it differs, broadcasts it.
    package func set(_ value: Value) { change { $0 = value } }

    package func change(_ change: (inout Value?) -> Void) {
        let isChanged = followers.keep { value in
            let before = value
            change(&value)
            return value != before
        }
        if isChanged { tell() }
    }

    /// Of two threads that broadcast at once, the one with the older value may come last. It notices that and
    /// broadcasts the newer value.
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
            // A change in between must not be overtaken by the value before it.
            var told: Value?
            while let present = value, present != told {
                follower.yield(present)
                told = present
            }
        }
    }

    /// Ends all streams. A stream that is requested later delivers the last value and ends.
    package func finish() { followers.finish() }
}
