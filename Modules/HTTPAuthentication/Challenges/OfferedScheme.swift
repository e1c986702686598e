internal import SallyportCore

/// One challenge of `WWW-Authenticate` or `Proxy-Authenticate` (RFC 9110 §11.3): a scheme with its parameters.
public struct OfferedScheme: Sendable, Hashable {
    /// In lower case.
    public let name: String
    /// Data in place of parameters (RFC 9110 §11.2).
    public var token68: String?
    /// The parameters: names in lower case, each once; values without quotes. At most 32.
    public var parameters: [String: String] = [:]

    /// - Parameter name: in either case; without data and parameters until they are set.
    public init(name: String) { self.name = name.lowercased() }

    /// The parameter `realm`, which names a part of the server (RFC 9110 §11.5); nil if there is none.
    public var realm: String? { parameters["realm"] }
}

/// Reads challenges (RFC 9110 §11.6.1): several in one field, several fields, in their order.
///
/// A malformed part invalidates only its own challenge, so that a server's mistake in one scheme leaves the others
/// usable.
package enum ChallengeParser {
    /// The most challenges that are read in one answer, and the most parameters of each.
    package static let limit = 32

    package static func parse(_ fields: [String]) -> [OfferedScheme] {
        var challenges: [Draft] = []
        for field in fields {
            var scanner = ElementScanner(field)
            while challenges.count <= limit, let element = scanner.next() { take(element, into: &challenges) }
        }
        return challenges.prefix(limit).compactMap { $0.isGood ? $0.offered : nil }
    }

    /// A partially read challenge.
    private struct Draft {
        var offered: OfferedScheme
        var isGood = true

        mutating func add(_ parameter: Parameter?) {
            guard let parameter, offered.token68 == nil, offered.parameters.count < limit,
                offered.parameters[parameter.name] == nil
            else { return isGood = false }
            offered.parameters[parameter.name] = parameter.value
        }
    }

    /// An element of the list is a parameter of the previous challenge, or begins a new one.
    private static func take(_ element: Substring.UTF8View, into challenges: inout [Draft]) {
        var reader = ParameterReader(element)
        if let parameter = reader.parameter() {
            // A parameter without a preceding scheme is ignored.
            guard !challenges.isEmpty else { return }
            return challenges[challenges.count - 1].add(reader.isAtEnd ? parameter : nil)
        }
        reader = ParameterReader(element)
        guard let name = reader.token() else {
            if !challenges.isEmpty { challenges[challenges.count - 1].isGood = false }
            return
        }
        var draft = Draft(offered: OfferedScheme(name: name))
        let hasSpace = reader.skipBlanks()
        if !reader.isAtEnd {
            if let data = reader.token68() {
                draft.offered.token68 = data
            } else {
                draft.add(hasSpace ? reader.parameter() : nil)
            }
            if !reader.isAtEnd { draft.isGood = false }
        }
        challenges.append(draft)
    }
}
