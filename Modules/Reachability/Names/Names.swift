public import SallyportAuthorization
internal import SallyportBase
public import SallyportCore
package import SallyportWire

/// Looks names up in the enterprise's DNS, from the gateway's position (RFC 8484 over the gateway's `/dns-query`).
///
/// Works only for names that the administrator's policy relays. Nothing is cached: each call asks the gateway. Copies
/// of this value share their limits.
public struct Names: InstancePart {
    /// The most look-ups that may run at once; one more is refused with ``NameError/Code/couldNotPerformService``.
    public static let maximumLookups = 64
    /// The longest time limit of a look-up.
    public static let maximumTime = Duration.seconds(60)

    private let source: any NameSource
    let detached = DetachedTasks()
    private let underWay = Places()

    /// Uses the gateway of an authorization.
    public init(_ authorization: Authorization) { self.init(source: authorization) }

    package init(source: any NameSource) { self.source = source }

    /// Looks up a name.
    ///
    /// Cancelling the task cancels the look-up.
    ///
    /// - Parameters:
    ///   - name: a host name, in any spelling that a URL may have; for ``NameAnswer/RecordType/srv`` with its leading
    ///     labels. At most 253 bytes.
    ///   - type: the type of the records to look up.
    ///   - limit: the time limit, up to ``maximumTime``.
    /// - Throws: ``NameError``.
    public func lookUp(
        _ name: String, _ type: NameAnswer.RecordType = .a, within limit: Duration = .seconds(10)
    ) async throws(NameError) -> NameAnswer {
        let query = DNSMessage(query: .init(try Self.question(name, type), type.wire))
        guard limit > .zero, limit <= Self.maximumTime else {
            throw NameError(.parameterError, "A look-up has more than no time, and at most \(Self.maximumTime).")
        }
        guard underWay.take(of: Self.maximumLookups) else {
            throw NameError(.couldNotPerformService, "\(Self.maximumLookups) look-ups are under way already.")
        }
        defer { underWay.free() }
        let outcome: NameOutcome
        do throws(LoadError) {
            outcome = try await source.outcome(of: query, within: limit)
        } catch {
            throw NameError(error)
        }
        return try Self.answer(outcome, type)
    }

    /// The addresses of a host, IPv6 first; empty if it has none or does not exist.
    ///
    /// - Throws: ``NameError``.
    public func addresses(
        of name: String, within limit: Duration = .seconds(10)
    ) async throws(NameError) -> [IPAddress] {
        async let six = result(name, .aaaa, limit)
        async let four = result(name, .a, limit)
        return try await six.get().addresses + four.get().addresses
    }

    private func result(
        _ name: String, _ type: NameAnswer.RecordType, _ limit: Duration
    ) async -> Result<NameAnswer, NameError> {
        do throws(NameError) {
            return .success(try await lookUp(name, type, within: limit))
        } catch {
            return .failure(error)
        }
    }

    /// The host in canonical form, after leading labels of a service.
    private static func question(_ text: String, _ type: NameAnswer.RecordType) throws(NameError) -> DNSName {
        let labels = text.split(separator: ".", omittingEmptySubsequences: false)
        let service = type == .srv ? labels.prefix { $0.hasPrefix("_") } : []
        let host = labels.dropFirst(service.count).joined(separator: ".")
        guard case .name(let host)? = try? Host(host) else {
            throw NameError(.parameterError, "What is looked up is the name of a host.")
        }
        guard let name = DNSName((service.map(String.init) + [host]).joined(separator: ".")), !name.labels.isEmpty
        else {
            throw NameError(.parameterError, "The name has no form in DNS.")
        }
        return name
    }

    private static func answer(
        _ outcome: NameOutcome, _ type: NameAnswer.RecordType
    ) throws(NameError) -> NameAnswer {
        switch outcome {
        case .refused(let status):
            throw NameError(.couldNotPerformService, "The gateway does not answer for names: \(status).")
        case .unreadable: throw NameError(.parsingResponseError, "The gateway's answer does not match the question.")
        case .answered(let message):
            switch message.code {
            case .noError where message.isTruncated:
                throw NameError(.parsingResponseError, "The gateway's answer is cut short.")
            case .noError, .nameError: return try NameAnswer(message, type: type)
            case .refused: throw NameError(.hostNotListed, "The policy does not relay \(message.question.name).")
            default: throw NameError(.couldNotPerformService, "The gateway's resolver failed.")
            }
        }
    }
}

extension NameAnswer.RecordType {
    var wire: DNSMessage.RecordType {
        switch self {
        case .cname: .cname
        case .a: .a
        case .aaaa: .aaaa
        case .srv: .srv
        }
    }
}

/// Sends queries to the gateway.
package protocol NameSource: Sendable {
    /// - Throws: the gate's refusal, and errors of the exchange.
    func outcome(of query: DNSMessage, within limit: Duration) async throws(LoadError) -> NameOutcome
}

extension Authorization: NameSource {}
