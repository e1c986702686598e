internal import SallyportCore

/// A sequence that checks the gate before it waits for an element, and again before it returns an element or its end.
public struct Gated<Base: AsyncSequence>: AsyncSequence {
    public typealias Element = Base.Element

    let base: Base
    let gate: any AccessGate

    public func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator(), gate: gate) }

    /// Iterates over the sequence, and asks the gate before and after each element.
    public struct Iterator: AsyncIteratorProtocol {
        var base: Base.AsyncIterator
        let gate: any AccessGate

        /// - Throws: `AccessDenied` while the app is not authorized; errors of the sequence itself.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Base.Element? {
            try gate.checkAuthorized()
            let element = try await base.next(isolation: actor)
            try gate.checkAuthorized()
            return element
        }

        public mutating func next() async throws -> Base.Element? { try await next(isolation: #isolation) }
    }
}

extension Gated: Sendable where Base: Sendable {}

@available(*, unavailable)
extension Gated.Iterator: Sendable {}
