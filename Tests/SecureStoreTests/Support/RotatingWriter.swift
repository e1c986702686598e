import Crypto

@testable import SallyportSecureStore

/// A process that writes a store and rotates its keys in steps.
final class RotatingWriter: @unchecked Sendable {
    // SAFETY: a store asks its protector for one key at a time, and a test looks at what was done afterwards.
    private let child: Child
    private(set) var done: [String] = []

    init(of fixture: StoreFixture) throws {
        child = try Child(["rotate", fixture.directory, fixture.keyFile])
        guard try child.readLine() == "open" else { throw Child.Failure(description: "The store is not open.") }
    }

    func perform(_ step: String) throws {
        try child.write(step)
        guard try child.readLine() == "done" else { throw Child.Failure(description: "\(step) failed.") }
        done.append(step)
    }

    /// The step that comes after those that are done.
    func next(of steps: [String]) -> String? { done.count < steps.count ? steps[done.count] : nil }
}

/// A protector that lets another process go a step on whenever its store has read the file of its keys.
struct SteppedProtector: KeyProtector {
    private let original: KeyFileProtector
    private let steps: [String]
    private let writer: RotatingWriter

    init(_ original: KeyFileProtector, steps: [String], of writer: RotatingWriter) {
        (self.original, self.steps, self.writer) = (original, steps, writer)
    }

    var kind: String { original.kind }

    func makeWrappingKey() throws(StoreError) -> (key: SymmetricKey, parameters: [UInt8]) {
        try original.makeWrappingKey()
    }

    func wrappingKey(parameters: [UInt8]) throws(StoreError) -> SymmetricKey {
        if let step = writer.next(of: steps) {
            do { try writer.perform(step) } catch {
                throw StoreError(.internalFailure, "The other process failed.", underlying: error)
            }
        }
        return try original.wrappingKey(parameters: parameters)
    }
}
