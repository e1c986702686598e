public import SallyportCore

/// A change of the authorization that the app should know.
public struct AuthorizationEvent: Sendable, Hashable, CustomStringConvertible {
    /// What an event tells; the raw value is the event's number.
    public enum Kind: Int, Sendable, Hashable, CaseIterable {
        /// Authorized, or a withdrawal was lifted.
        case authorized = 0
        /// Not authorized, withdrawn, or blocked locally: see the code.
        case notAuthorized = 1
        /// A value of ``Configuration/application`` changed.
        case remoteSettingsUpdate = 2
        /// Servers or routes changed.
        case servicesUpdate = 3
        /// The application's own policy changed.
        case policyUpdate = 4
        /// ``Configuration/entitledVersions(of:)`` changed for an application.
        case entitlementsUpdate = 6
    }

    /// What changed.
    public let kind: Kind
    /// The reason, for ``Kind/notAuthorized``; otherwise `none`.
    public let code: ResultCode
    /// For people.
    public let message: String

    package init(kind: Kind, code: ResultCode, message: String) {
        self.kind = kind
        self.code = code
        self.message = message
    }

    public var description: String { "\(kind), \(code): \(message)" }
}

/// Receives events, like ``Authorization/events``.
public protocol AuthorizationDelegate: AnyObject, Sendable {
    /// Called in the order of events, on the task that caused the event; must not block.
    func authorization(_ authorization: Authorization, didReceive event: AuthorizationEvent)
}

/// The events of an authorization from the moment the sequence is requested.
///
/// A slow consumer keeps the newest 64. Ends when its task is cancelled.
public struct AuthorizationEvents: AsyncSequence, Sendable {
    public typealias Element = AuthorizationEvent
    public typealias Failure = Never
    let stream: AsyncStream<AuthorizationEvent>

    public func makeAsyncIterator() -> AsyncStream<AuthorizationEvent>.Iterator { stream.makeAsyncIterator() }
}
