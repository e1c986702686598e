import Crypto
import Synchronization

@testable import SallyportSecureStore

/// A protector that lets something happen once, when its store has read the file of its keys.
final class InterruptingProtector: KeyProtector {
    private let original: KeyFileProtector
    private let isDone = Atomic(false)
    private let interruption: @Sendable () throws(StoreError) -> Void

    init(_ original: KeyFileProtector, by interruption: @escaping @Sendable () throws(StoreError) -> Void) {
        self.original = original
        self.interruption = interruption
    }

    var kind: String { original.kind }

    func makeWrappingKey() throws(StoreError) -> (key: SymmetricKey, parameters: [UInt8]) {
        try original.makeWrappingKey()
    }

    func wrappingKey(parameters: [UInt8]) throws(StoreError) -> SymmetricKey {
        if !isDone.exchange(true, ordering: .relaxed) { try interruption() }
        return try original.wrappingKey(parameters: parameters)
    }

    func destroySecret(inDirectory path: String) throws(StoreError) { try original.destroySecret(inDirectory: path) }
}
