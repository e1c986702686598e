import SallyportAuthorization
import SallyportCore
import SallyportLoading
import Testing

@testable import SallyportCommandLine
@testable import SallyportReachability

/// What the doctor makes of answers and failures: each names its own check, the trouble, and what to do.
@Suite struct FindingsTests {
    private static func endpoint(_ text: String) -> Endpoint {
        guard let endpoint = try? Endpoint(text) else { preconditionFailure("\(text) is an endpoint.") }
        return endpoint
    }

    private static let gateway = endpoint("gateway.corp.example:17433")

    static let contacts: [(LoadError, Finding.Check, Finding.Trouble)] = [
        (LoadError(.cannotFindHost, at: .nameLookup, "No such name."), .name, .unreachable),
        (LoadError(.cannotConnect, at: .connect, "Nobody listens."), .port, .unreachable),
        (LoadError(.resourceTimeout, at: .connect, "It took long."), .port, .unreachable),
        (LoadError(.connectionLost, at: .serverTLS, "It ended."), .port, .unreachable),
        (LoadError(.serverNotTrusted, at: .serverTLS, "self-signed certificate"), .authority, .protocolError),
        (LoadError(.tlsFailed, at: .serverTLS, "wrong version number"), .authority, .protocolError),
        (LoadError(.protocolViolation, at: .response, "No HTTP."), .authority, .protocolError),
        (LoadError(.serverNotTrusted, at: .serverTLS, "certificate is not yet valid"), .clock, .protocolError),
        (LoadError(.serverNotTrusted, at: .serverTLS, "certificate has expired"), .clock, .protocolError),
    ]

    @Test(arguments: contacts)
    func theFirstContactNamesWhatFailed(_ failure: LoadError, _ check: Finding.Check, _ trouble: Finding.Trouble) {
        let findings = GatewayFindings.contact(Self.gateway, failure)
        let failed = findings.filter { $0.outcome == .failed }
        #expect(failed.map(\.check) == [check] && failed.first?.trouble == trouble)
        #expect(failed.first?.advice?.isEmpty == false && findings.last == failed.first)
        #expect(GatewayFindings.contact(Self.gateway, nil).map(\.outcome) == [.ok, .ok, .ok])
    }

    @Test(arguments: [
        (0 as Int64, Finding.Outcome.ok), (60, .ok), (-60, .ok), (61, .warning), (-61, .warning), (299, .warning),
        (300, .failed), (-300, .failed), (1_000_000, .failed),
    ]) func clocksAreTheSameOrNot(_ skew: Int64, _ outcome: Finding.Outcome) {
        let finding = GatewayFindings.clock(signed: 1_800_000_000, now: 1_800_000_000 + skew)
        #expect(finding.outcome == outcome)
        #expect(outcome == .ok || finding.message.contains(skew > 0 ? "ahead" : "behind"))
    }

    @Test(arguments: [
        (200, Finding.Outcome.ok, nil), (401, .failed, Finding.Trouble.notAuthorized),
        (403, .failed, .notAuthorized), (500, .failed, .protocolError), (429, .failed, .protocolError),
    ]) func theGatewayTakesTheCertificateOrNot(_ status: Int, _ outcome: Finding.Outcome, _ trouble: Finding.Trouble?) {
        let finding = GatewayFindings.identity(status: status)
        #expect(finding.check == .identity && finding.outcome == outcome && finding.trouble == trouble)
    }

    @Test func aRefusedHandshakeIsARefusedCertificate() {
        let refused = GatewayFindings.identity(LoadError(.clientCertificateRefused, at: .serverTLS, "Refused."))
        #expect(refused.trouble == .notAuthorized)
        let lost = GatewayFindings.identity(LoadError(.connectionLost, at: .response, "Lost."))
        #expect(lost.trouble == .unreachable)
    }

    /// One that has ended needs no new activation: what to do is said where its time is looked at.
    @Test func aCertificateThatHasEndedIsRefusedForThat() {
        let ended = GatewayFindings.identity(status: 403, isExpired: true)
        #expect(ended.trouble == .notAuthorized && ended.advice?.contains("activation link") == false)
        #expect(GatewayFindings.identity(status: 403).advice?.contains("activation link") == true)
        let inHandshake = GatewayFindings.identity(
            LoadError(.clientCertificateRefused, at: .serverTLS, "Refused."), isExpired: true)
        #expect(inHandshake == ended)
        #expect(GatewayFindings.identity(status: 200, isExpired: true).outcome == .ok)
    }

    @Test func aConfigurationThatIsNotBelievedIsNamed() {
        let finding = GatewayFindings.unverified(AuthorizationError(.invalidConfiguration, "The epoch is lower."))
        #expect(finding.check == .status && finding.trouble == .protocolError)
        #expect(finding.message.contains("The epoch is lower.") && finding.advice?.contains("older copy") == true)
    }

    @Test func relaysAreToldApart() {
        let relay = Self.endpoint("relay.corp.example:17533")
        let causes: [(LoadError.Code, Finding.Trouble)] = [
            (.cannotConnect, .unreachable), (.cannotFindHost, .unreachable), (.serverNotTrusted, .protocolError),
            (.clientCertificateRefused, .notAuthorized),
        ]
        for (code, trouble) in causes {
            let finding = WayFindings.relay(relay, "main", .failed(LoadError(code, "It failed.")))
            #expect(finding.check == .relay && finding.trouble == trouble && finding.message.contains("main"))
        }
        #expect(WayFindings.relay(relay, "main", .answered).outcome == .ok)
        let late = WayFindings.relay(
            relay, "main", .failed(LoadError(.serverNotTrusted, at: .serverTLS, "certificate has expired")))
        #expect(late.trouble == .protocolError && late.advice?.contains("set the clock") == true)
    }

    @Test func namesNeverFailTheWhole() {
        for code in [NameError.Code.timeout, .hostNotListed, .couldNotPerformService, .networkError] {
            let finding = WayFindings.names("a.example", .failure(NameError(code, "It failed.")))
            #expect(finding.outcome == .warning && finding.advice?.isEmpty == false)
        }
    }

    @Test func aServerIsReachedRefusedOrOutOfReach() {
        let server = Self.endpoint("a.example:443")
        let decision = RoutingTable(default: .relay).decide(server)
        func finding(_ code: LoadError.Code?, at step: LoadError.Step? = nil) -> Finding {
            let failure = code.map { LoadError($0, at: step, "It failed.") }
            let attempt = ServerReachability.Attempt(
                relay: nil, code: failure.map(DiagnosticCode.init) ?? .noError, failure: failure, duration: .zero)
            return WayFindings.server(
                server, ServerReachability(server, by: decision, [attempt], else: .notReachable))
        }
        #expect(finding(nil).outcome == .ok)
        #expect(finding(.cannotConnect).trouble == .unreachable && finding(.relayRefused).trouble == .unreachable)
        #expect(finding(.serverNotTrusted, at: .serverTLS).advice?.contains("--ca") == true)
        let late = LoadError(
            .serverNotTrusted, at: .serverTLS, "The server's certificate does not verify: has expired.")
        let attempt = ServerReachability.Attempt(relay: nil, code: .notTrusted, failure: late, duration: .zero)
        let ended = WayFindings.server(
            server, ServerReachability(server, by: decision, [attempt], else: .notReachable))
        #expect(ended.trouble == .protocolError && ended.advice?.contains("clock") == true)
        #expect(finding(.relayNotTrusted, at: .relayTLS).trouble == .protocolError)
        let denied = RoutingTable(default: .deny).decide(server)
        let refused = WayFindings.server(server, ServerReachability(server, by: denied, [], else: .refused))
        #expect(refused.trouble == .notAuthorized && refused.advice?.contains("admin server add") == true)
        let unknown = WayFindings.server(server, ServerReachability(server, by: nil, [], else: .notAuthorized))
        #expect(unknown.outcome == .skipped)
    }

    @Test(arguments: [
        (0 as Int64, "0 s"), (119, "119 s"), (120, "2 minutes"), (7199, "119 minutes"), (7200, "2 hours"),
        (172_799, "47 hours"), (172_800, "2 days"), (-5, "0 s"),
    ]) func timesAreToldInTheLargestUnitOfWhichThereAreTwo(_ seconds: Int64, _ text: String) {
        #expect(StoreFindings.span(seconds) == text)
    }

    /// The numbers 0 to 3 are the same on other platforms.
    @Test func codesHaveTheirNumbers() {
        #expect(DiagnosticCode.allCases.map(\.rawValue) == Array(0...8))
        let causes: [(LoadError.Code, DiagnosticCode)] = [
            (.resourceTimeout, .timedOut), (.idleTimeout, .timedOut), (.cannotConnect, .notReachable),
            (.relayUnreachable, .notReachable), (.serverNotTrusted, .notTrusted), (.relayRefused, .refused),
            (.refusedByPolicy, .refused), (.withdrawn, .notAuthorized), (.cancelled, .cancelled),
        ]
        for (cause, code) in causes { #expect(DiagnosticCode(LoadError(cause, "It failed.")) == code) }
    }
}
