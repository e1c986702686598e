/// A value that is never printed: keys, passwords, tokens, cookies.
///
/// Descriptions, reflection and string interpolation print a placeholder; only ``reveal()`` hands the value out, so
/// that every place where a secret leaves its wrapper can be found by name.
public struct Redacted<Value: Sendable>: Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    private let value: Value

    /// - Parameter value: the secret. Its own copies elsewhere stay as they are.
    public init(_ value: Value) { self.value = value }

    /// The secret itself.
    public func reveal() -> Value { value }

    public var description: String { "<redacted>" }
    public var debugDescription: String { "<redacted>" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Redacted: Equatable where Value: Equatable {}
extension Redacted: Hashable where Value: Hashable {}
