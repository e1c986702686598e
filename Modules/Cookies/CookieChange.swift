internal import SallyportBase
public import SallyportCore

/// A change of one cookie in a jar.
public struct CookieChange: Sendable, CustomStringConvertible {
    /// What happened to the cookie.
    public enum Kind: Sendable, Hashable {
        /// The cookie is new, or differs from the one before.
        case set
        /// The cookie is no longer sent.
        case removed(Cause)
    }

    /// Why a cookie was removed.
    public enum Cause: String, Sendable, Hashable {
        /// The app removed it.
        case removed
        /// It has expired, or its server revoked it.
        case expired
        /// There were too many cookies; see ``CookieJar``.
        case evicted
    }

    /// The number of the change: a gap in the numbers shows that the reader missed some changes.
    public let number: UInt64
    /// What happened to the cookie.
    public let kind: Kind
    /// The new cookie, or the removed one.
    public let cookie: Cookie
    /// The principal whose cookie it is.
    public let principal: Principal

    public var description: String { "\(number): \(cookie) \(kind)" }
}

/// The changes of a jar from the moment the sequence is requested, whether made by the app or by servers.
///
/// A slow reader keeps the newest 256 changes and finds the gap in ``CookieChange/number``. The sequence ends with the
/// jar, and when its task is cancelled.
public struct CookieChanges: AsyncSequence, Sendable {
    public typealias Element = CookieChange
    public typealias Failure = Never
    let stream: AsyncStream<CookieChange>

    public func makeAsyncIterator() -> AsyncStream<CookieChange>.Iterator { stream.makeAsyncIterator() }
}

/// Broadcasts numbered changes to the observers of a jar.
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
    /// Whether more than the time of the last use has changed.
    var isChange: Bool { if case .touched = self { false } else { true } }

    /// Nil if only the time of the last use has changed.
    fileprivate var change: (CookieChange.Kind, CookieEntry, Principal)? {
        switch self {
        case .set(let entry, _, let principal): (.set, entry, principal)
        case .removed(let entry, let cause, let principal): (.removed(cause), entry, principal)
        case .touched: nil
        }
    }
}
