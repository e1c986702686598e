import Glibc
import SallyportAuthToken
import SallyportAuthorization
import SallyportCore
import TestSupport

@testable import SallyportCommandLine

/// What the program says of errors and findings that no command can be brought to produce here: they take a machine that
/// is broken or a clock that is wrong. The errors are values, which the program turns into its messages as it does those
/// that modules throw.
enum MessageValues {
    typealias Value = @Sendable (MessageStage) async throws -> Said

    static var names: [String] { Array(all.keys) }

    static func said(_ name: String, on stage: MessageStage) async throws -> Said {
        guard let value = all[name] else { throw Unexpected("There is no value \(name).") }
        return try await value(stage)
    }

    private static let all: [String: Value] = failures.mapValues { failure -> Value in { _ in said(failure) } }
        .merging(findings) { $1 }.merging(storedFindings) { $1 }.merging(reports) { $1 }.merging(environments) { $1 }

    static func said(_ failure: CommandFailure) -> Said {
        Said(error: [failure.description], status: failure.status.rawValue)
    }

    static func said(_ findings: [Finding]) -> Said {
        let report = DoctorReport(findings)
        let failure = report.failure.map(said)
        return Said(
            output: report.text.split(separator: "\n").map(String.init), error: failure?.error ?? [],
            status: failure?.status ?? 0)
    }

    // MARK: Failures

    private static let failures: [String: CommandFailure] = [
        "the process cannot be kept out of core dumps": GatewayHost.dumpable,
        "the machine has no name": GatewayHost.nameless,
        "the process of the door ends during a command": RunningDoor.lost,
        "no descriptor is left for an isolated program": Isolated.noSockets(EMFILE),
        "an isolated program does not begin": Isolated.notStarted,
        "the door ends before an isolated program begins": InsideCommand.doorEnded,
        "the task of a command is cancelled": failure(CancellationError()),
        "SIGINT": Interruption(number: SIGINT).failure,
        "SIGTERM": Interruption(number: SIGTERM).failure,
        "a load without an authorized app": failure(LoadError(AccessDenied(.notAuthorized))),
        "a load of an app that was wiped": failure(LoadError(AccessDenied(.withdrawn, code: .wiped))),
        "a load of an app that was denied": failure(LoadError(AccessDenied(.withdrawn, code: .appDenied))),
        "a load that a server ends for want of a certificate": failure(
            LoadError(.clientCertificateRefused, at: .serverTLS, "The peer refused the certificate.")),
        "a load from https to http": failure(
            LoadError(.insecureRedirect, at: .response, "The server redirects from https to http.")),
        "a load with no version of TLS left": failure(
            LoadError(.noCommonTLSVersion, at: .routing, "Settings and policy leave no version of TLS to offer.")),
        "a load whose relay cannot be reached": failure(
            LoadError(.relayUnreachable, at: .connect, "No connection to the relay: Connection refused")),
        "a load that does not end in its time": failure(
            LoadError(.resourceTimeout, at: .response, "The time for the whole load is over.")),
        "an authorization with a certificate that has expired": failure(
            AuthorizationError(.identityExpired, .activationFailed, "The certificate expired more than 30 days ago.")),
        "an authorization of a wiped instance": failure(
            AuthorizationError(.withdrawn, .wiped, "The instance was wiped.")),
        "an authorization at a gateway with another authority": failure(
            AuthorizationError(
                .authorityMismatch, .serverCommunicationFailed,
                "The gateway does not show the authority that the link names; the access key was not sent.")),
        "an authorization of an app that is not activated": failure(
            AuthorizationError(.notActivated, "Not activated.")),
        "a link that has expired": failure(
            AuthorizationError(.linkExpired, .credentialsFailed, "The activation link has expired.")),
        "a link that is refused": failure(
            AuthorizationError(.credentialsRefused, .credentialsFailed, "The gateway refused with status 401.")),
        "a token while the gateway is busy": failure(AuthTokenError(.retry, "The gateway's answer holds no token.")),
        "a token of a gateway that issues none": failure(
            AuthTokenError(.notSupported, "The gateway does not know the request.")),
        "a token of an instance that was withdrawn": failure(AuthTokenError(.withdrawn, "The instance is withdrawn.")),
    ]

    /// As the program converts what a command throws.
    private static func failure(_ error: any Error) -> CommandFailure {
        CommandFailure(error) ?? CommandFailure(.software, name: "other", "The error is not the program's.")
    }
}
