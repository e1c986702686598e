/// How an app reaches a server in a test.
package enum Way: String, Sendable, CaseIterable, CustomStringConvertible {
    case direct, relayed

    package var description: String { rawValue }
}
