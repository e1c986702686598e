import SallyportAuthorization
import SallyportCore
import TestSupport

@testable import SallyportCommandLine
@testable import SallyportReachability

/// The doctor's findings.
extension MessageValues {
    static let findings: [String: Value] = gatewayFindings.merging(wayFindings) { $1 }
        .mapValues { findings -> Value in { _ in said(try findings()) } }

    private typealias Findings = @Sendable () throws -> [Finding]

    private static func endpoint(_ text: String) throws -> Endpoint { try Endpoint(text) }

    private static func contact(_ failure: LoadError?) -> Findings {
        { GatewayFindings.contact(try endpoint("gateway.corp.example:17433"), failure) }
    }

    private static func clock(_ skew: Int64) -> Findings {
        { [GatewayFindings.clock(signed: 1_800_000_000, now: 1_800_000_000 + skew)] }
    }

    private static let expired = LoadError(
        .serverNotTrusted, at: .serverTLS, "The server's certificate does not verify: certificate has expired.")
    private static let untrusted = LoadError(
        .serverNotTrusted, at: .serverTLS, "The server's certificate does not verify: self-signed certificate.")
    private static let refused = LoadError(.cannotConnect, at: .connect, "Connection refused.")
    private static let refusedCertificate = LoadError(
        .clientCertificateRefused, at: .serverTLS, "The peer refused the certificate.")

    private static let gatewayFindings: [String: Findings] = [
        "the gateway is the right one": contact(nil),
        "the gateway's name is not known": contact(LoadError(.cannotFindHost, at: .nameLookup, "No such name.")),
        "nothing listens at the gateway": contact(refused),
        "what listens at the gateway breaks TLS": contact(
            LoadError(.connectionLost, at: .serverTLS, "The connection ended in the handshake.")),
        "the gateway's certificate has expired": contact(expired),
        "the gateway has another authority": contact(untrusted),
        "the gateway does not speak HTTP": contact(
            LoadError(.protocolViolation, at: .response, "The server's bytes are not HTTP.")),
        "the clocks agree": clock(0),
        "the clock is two minutes ahead": clock(120),
        "the clock is an hour behind": clock(-3600),
        "the gateway takes the certificate": { [GatewayFindings.identity(status: 200)] },
        "the gateway refuses the certificate": { [GatewayFindings.identity(status: 403)] },
        "the gateway refuses the certificate, which has expired": {
            [GatewayFindings.identity(status: 403, isExpired: true)]
        },
        "the gateway fails": { [GatewayFindings.identity(status: 500)] },
        "the gateway ends the connection of the instance": {
            [GatewayFindings.identity(LoadError(.connectionLost, at: .response, "The connection ended."))]
        },
        "the gateway lets the app in": { [GatewayFindings.status(.authorized)] },
        "the gateway says that the instance is locked": { [GatewayFindings.status(.locked(.remoteLockout))] },
        "the gateway says that the instance is wiped": { [GatewayFindings.status(.wiped(.wiped))] },
        "the gateway's configuration is too old": {
            [
                GatewayFindings.unverified(
                    AuthorizationError(.invalidConfiguration, "The epoch is lower than the known one."))
            ]
        },
    ]

    private static func relay(_ attempt: RelayAttempt) -> Findings {
        { [WayFindings.relay(try endpoint("relay.corp.example:17533"), "main", attempt)] }
    }

    private static func names(_ outcome: Result<NameAnswer, NameError>) -> Findings {
        { [WayFindings.names("app.corp.example", outcome)] }
    }

    private static func answer(exists: Bool) -> NameAnswer {
        NameAnswer(
            name: "app.corp.example", type: .a, exists: exists, canonicalName: "app.corp.example", records: [])
    }

    /// - Parameter code: of what failed; nil if the policy does not lead there.
    private static func server(_ failure: LoadError?, routes: Route = .relay, else code: DiagnosticCode) -> Findings {
        {
            let server = try endpoint("app.corp.example:443")
            let attempt = failure.map {
                ServerReachability.Attempt(relay: nil, code: DiagnosticCode($0), failure: $0, duration: .zero)
            }
            let decision = code == .notAuthorized ? nil : RoutingTable(default: routes).decide(server)
            return [
                WayFindings.server(
                    server,
                    ServerReachability(server, by: decision, attempt.map { [$0] } ?? [], else: code))
            ]
        }
    }

    private static let wayFindings: [String: Findings] = [
        "the relay takes the certificate": relay(.answered),
        "the relay refuses the certificate": relay(.failed(refusedCertificate)),
        "the relay's certificate has expired": relay(.failed(expired)),
        "the relay has another authority": relay(.failed(untrusted)),
        "nothing listens at the relay": relay(.failed(refused)),
        "names inside are answered for": names(.success(answer(exists: true))),
        "the gateway's resolver does not know a listed name": names(.success(answer(exists: false))),
        "the policy no longer relays a listed name": names(
            .failure(NameError(.hostNotListed, "The policy does not relay app.corp.example."))),
        "the gateway's resolver fails": names(
            .failure(NameError(.couldNotPerformService, "The gateway's resolver failed."))),
        "a server's certificate has expired": server(expired, else: .notTrusted),
        "a server has another authority": server(untrusted, else: .notTrusted),
        "the relay of a server is not trusted": server(
            LoadError(.relayNotTrusted, at: .relayTLS, "The relay's certificate does not verify."), else: .notTrusted),
        "a server cannot be reached": server(refused, else: .notReachable),
        "the relay does not reach a server": server(
            LoadError(.relayRefused, at: .relayConnect, "The relay answered CONNECT with 502."), else: .refused),
        "the policy denies a server": server(nil, routes: .deny, else: .refused),
        "no policy is known": server(nil, else: .notAuthorized),
    ]
}
