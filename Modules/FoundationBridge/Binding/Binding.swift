internal import FoundationNetworking
internal import SallyportBase
internal import SallyportCore
internal import SallyportURLLoading

/// The session and limits to which a native configuration is bound.
///
/// Retained by the configuration, by the copy of it that each native session makes, and by running loads.
final class Binding: Sendable {
    let session: SecureSession
    /// The longest body that is delivered at once.
    let limit: ByteCount
    /// The protocol class that belongs to this binding alone.
    let protocolClass: URLProtocol.Type
    fileprivate let number: Int

    fileprivate init(_ session: SecureSession, limit: ByteCount, number: Int) {
        self.session = session
        self.limit = limit
        self.number = number
        protocolClass = BindingNumbers.protocolClass(number)
    }

    deinit { Bindings.forget(number, of: Bindings.Key(session, limit)) }
}

/// The bindings of the process, by the numbers of their protocol classes.
///
/// A number is never reused: a class that outlives its configuration finds nothing, and not the session of another
/// tenant.
enum Bindings {
    struct Key: Hashable {
        let session: ObjectIdentifier
        let limit: ByteCount

        init(_ session: SecureSession, _ limit: ByteCount) {
            self.session = ObjectIdentifier(session)
            self.limit = limit
        }
    }

    private struct Weak {
        weak var binding: Binding?
    }

    private struct State {
        var last = 0
        var bindings: [Int: Weak] = [:]
        var numbers: [Key: Int] = [:]
    }

    private static let state = Lock(State())

    /// The session's binding, the same one for as long as it is in use.
    static func binding(of session: SecureSession, upTo limit: ByteCount) -> Binding {
        state.withLock { state in
            let key = Key(session, limit)
            if let number = state.numbers[key], let binding = state.bindings[number]?.binding { return binding }
            state.last += 1
            let binding = Binding(session, limit: limit, number: state.last)
            state.bindings[state.last] = Weak(binding: binding)
            state.numbers[key] = state.last
            return binding
        }
    }

    /// - Throws: `sessionInvalidated` if the session has been released; `notAuthorized` for the system session.
    static func binding(_ number: Int) throws(LoadError) -> Binding {
        guard let binding = state.withLock({ $0.bindings[number]?.binding }) else {
            throw LoadError(.sessionInvalidated, at: .routing, "The configuration of the task is gone.")
        }
        guard !binding.session.goesDirect else {
            throw LoadError(.notAuthorized, at: .routing, "The system session is not bridged.")
        }
        return binding
    }

    fileprivate static func forget(_ number: Int, of key: Key) {
        state.withLock { state in
            state.bindings[number] = nil
            // Another session may have the same address by now.
            if state.numbers[key] == number { state.numbers[key] = nil }
        }
    }
}
