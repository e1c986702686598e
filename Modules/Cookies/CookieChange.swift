internal import SallyportBase
public import SallyportCore

/// Something that happened to a cookie of a jar.
public struct CookieChange: Sendable, CustomStringConvertible {
    public enum Kind: Sendable, Hashable {
        /// It is new, or another than before.
        case set
        case removed(Cause)
    }

    /// Why a cookie is gone.
    public enum Cause: String, Sendable, Hashable {
        /// The app wanted it so.
        case removed
        /// Its time is over, or its server took it back.
        case expired
        /// There were too many; see ``CookieJar``.
        case evicted
    }

    /// Counts the jar's changes, one by one: a gap tells that the reader missed some.
    public let number: UInt64
    public let kind: Kind
    public let cookie: Cookie
    public let principal: Principal

    public var description: String { "\(number): \(cookie) \(kind)" }
}

/// The changes of a jar from the moment the sequence was asked for, whoever made them.
///
/// A reader that falls behind keeps the newest 256, and sees the gap in ``CookieChange/number``. Ends with the jar, and
/// when its task is cancelled.
public struct CookieChanges: AsyncSequence, Sendable {
    public typealias Element = CookieChange
    public typealias Failure = Never
    let stream: AsyncStream<CookieChange>

    public func makeAsyncIterator() -> AsyncStream<CookieChange>.Iterator { stream.makeAsyncIterator() }
}

/// Hands changes to all who follow a jar, each with its number.
struct CookieChangeHub: Sendable {
    private let followers = Followers<CookieChange>()

    func changes() -> CookieChanges { CookieChanges(stream: followers.follow(buffering: .bufferingNewest(256))) }

    /// - Parameter number: the number of the change before these.
    func tell(_ effects: [CookieTable.Effect], after number: UInt64) {
        var number = number
        for effect in effects {
            guard let (kind, entry, principal) = effect.change else { continue }
            number += 1
            followers.tell(CookieChange(number: number, kind: kind, cookie: Cookie(entry), principal: principal))
        }
    }

    func finish() { followers.finish() }
}

extension CookieTable.Effect {
    /// Whether more has changed than the time of the last use.
    var isChange: Bool { if case .touched = self { false } else { true } }

    /// Nil where only the last use is another.
    fileprivate var change: (CookieChange.Kind, CookieEntry, Principal)? {
        switch self {
        case .set(let entry, _, let principal): (.set, entry, principal)
        case .removed(let entry, let cause, let principal): (.removed(cause), entry, principal)
        case .touched: nil
        }
    }
}
