/// One part of a gateway whose health is told, such as the store. Adding one to the list in
/// ``GatewayServices/healthParts(_:)`` or ``RelayRole`` and to the labels of ``MetricDescription/health`` is all that a
/// further part takes.
struct HealthPart: Sendable {
    /// In ``Health``'s answer, and as a label of metrics.
    let name: String
    /// Looks at the part. May take any time: what does not answer counts as failed.
    let check: @Sendable () async -> HealthFinding
}

/// What a look at a part found. The texts go to any client: they name nothing that belongs to an app or a user.
enum HealthFinding: Sendable, Hashable {
    case well
    /// It works, and should get no more work now. A restart would not help.
    case notReady(String)
    /// It does not work; a restart may help.
    case failed(String)
}

/// A part as it stands now.
struct HealthState: Sendable, Hashable {
    let name: String
    let finding: HealthFinding

    var isAlive: Bool { if case .failed = finding { false } else { true } }
    var isReady: Bool { finding == .well }

    /// Why it is not ready; nil if it is.
    var reason: String? {
        switch finding {
        case .well: nil
        case .notReady(let reason), .failed(let reason): reason
        }
    }
}

extension HealthPart {
    static func relay(_ relay: Relay, _ connections: Connections) -> HealthPart {
        HealthPart(name: "relay") {
            guard let isListening = await relay.isListening() else { return .notReady("It has not started yet.") }
            guard isListening else { return .failed("The relay does not listen.") }
            return connections.hasRoom ? .well : .notReady("No descriptor is left for connections.")
        }
    }
}
