internal import Logging
internal import SallyportBase
internal import Synchronization

/// The protocol handlers of one instance, for all its sessions.
///
/// What is registered before authorization completed belongs to the system session and stays there: its loads are
/// not protected. What is registered afterwards serves the secure sessions. ``register(_:)`` says which it was.
public final class ProtocolRegistry: Sendable {
    /// Where a handler serves.
    public enum Registration: Sendable, Hashable {
        /// In the sessions of the instance, and `SecureSession.shared` while secure communication is enabled.
        case secureSessions
        /// In the system session only: the registration came before authorization completed.
        case systemSessionOnly
    }

    private struct State {
        var secure: [HandlerEntry] = [.secureHTTP]
        var system: [HandlerEntry] = [.systemHTTP]
    }

    private let state = Lock(State())
    /// Whether the handler of this module is asked first: read by each load, without the lock.
    private let secureHTTPIsFirst = Atomic(true)
    private let systemHTTPIsFirst = Atomic(true)
    private let hasCompletedAuthorization: @Sendable () -> Bool
    private let logger: Logger

    init(logger: Logger, hasCompletedAuthorization: @escaping @Sendable () -> Bool) {
        self.logger = logger
        self.hasCompletedAuthorization = hasCompletedAuthorization
    }

    /// Registers a handler; it is asked before all that were registered earlier, and before those for `http` and
    /// `https`. Registering it again moves it to the front.
    @discardableResult
    public func register(_ handler: any ProtocolHandler.Type) -> Registration {
        let entry = HandlerEntry(handler)
        // The handler of secure sessions has no other place, whenever loading is switched off and on.
        if entry == .secureHTTP || hasCompletedAuthorization() {
            change { $0.secure.moveToFront(entry) }
            return .secureSessions
        }
        change { $0.system.moveToFront(entry) }
        logger.notice(
            "A protocol handler registered before authorization serves the system session only.",
            metadata: ["handler": "\(handler)"])
        return .systemSessionOnly
    }

    /// Takes a handler out of all lists. Loads that it carries out go on.
    public func unregister(_ handler: any ProtocolHandler.Type) {
        let entry = HandlerEntry(handler)
        change { state in
            state.secure.removeAll { $0 == entry }
            state.system.removeAll { $0 == entry }
        }
    }

    /// Registers the handler of secure sessions in front, or takes it out, as the switch for loading stands when the lock
    /// is taken. So handler and switch agree in the end, even if two tasks turn the switch at the same time.
    func follow(_ isSwitchedOn: () -> Bool) {
        change { state in
            if isSwitchedOn() {
                state.secure.moveToFront(.secureHTTP)
            } else {
                state.secure.removeAll { $0 == .secureHTTP }
            }
        }
    }

    private func change(_ change: (inout State) -> Void) {
        state.withLock { state in
            change(&state)
            secureHTTPIsFirst.store(state.secure.first == .secureHTTP, ordering: .releasing)
            systemHTTPIsFirst.store(state.system.first == .systemHTTP, ordering: .releasing)
        }
    }

    /// In the order in which they are asked.
    var secureEntries: [HandlerEntry] { state.withLock { $0.secure } }
    var systemEntries: [HandlerEntry] { state.withLock { $0.system } }

    var isSecureHTTPFirst: Bool { secureHTTPIsFirst.load(ordering: .acquiring) }
    var isSystemHTTPFirst: Bool { systemHTTPIsFirst.load(ordering: .acquiring) }
}

/// A handler in a list. The two of this module are known by name, so that their loads need no writer and no task.
enum HandlerEntry: Sendable, Equatable {
    case secureHTTP
    case systemHTTP
    case plugin(any RequestHandler)

    init(_ handler: any ProtocolHandler.Type) {
        if handler == SecureHTTPHandler.self {
            self = .secureHTTP
        } else if handler == SystemHTTPHandler.self {
            self = .systemHTTP
        } else {
            self = .plugin(HandlerOfType(type: handler))
        }
    }

    static func == (left: HandlerEntry, right: HandlerEntry) -> Bool {
        switch (left, right) {
        case (.secureHTTP, .secureHTTP), (.systemHTTP, .systemHTTP): true
        // Those that the app made stand in no registry, where entries are compared.
        case (.plugin(let left as HandlerOfType), .plugin(let right as HandlerOfType)): left.type == right.type
        default: false
        }
    }
}

extension [HandlerEntry] {
    fileprivate mutating func moveToFront(_ entry: HandlerEntry) {
        removeAll { $0 == entry }
        insert(entry, at: 0)
    }
}
