import ArgumentParser
import SallyportCore
import SallyportGateway
import SallyportSecureStore
import SallyportTransport
import Testing

@testable import SallyportCommandLine

@Suite struct ExitStatusTests {
    @Test(arguments: [
        (LoadError.Code.notAuthorized, 77), (.withdrawn, 77), (.refusedByPolicy, 77), (.cannotFindHost, 69),
        (.cannotConnect, 69), (.relayUnreachable, 69), (.serverNotTrusted, 76), (.relayNotTrusted, 76),
        (.relayProtocol, 76), (.protocolViolation, 76), (.fileSystem, 74), (.invalidRequest, 64),
    ])
    func loadErrorsHaveTheirExitStatus(code: LoadError.Code, status: Int) {
        #expect(CommandFailure(LoadError(code, "It failed.")).status.rawValue == Int32(status))
    }

    /// The relay speaks for the policy and for the server.
    @Test(arguments: [(403, 77), (502, 69), (503, 69), (504, 69), (400, 76), (407, 76), (500, 76)])
    func aRelaysRefusalHasTheExitStatusOfItsReason(answer: Int, status: Int) {
        let refusal = RelayRefusal(status: answer, proxyStatus: nil)
        let error = LoadError(.relayRefused, at: .relayConnect, "It refused.", underlying: refusal)
        #expect(CommandFailure(error).status.rawValue == Int32(status))
    }

    /// The relay answers 502 then.
    @Test func anAddressThatTheRelayMustNotReachIsDeniedByPolicy() {
        let refusal = RelayRefusal(status: 502, proxyStatus: "sallyport;error=destination_ip_prohibited")
        let error = LoadError(.relayRefused, at: .relayConnect, "It refused.", underlying: refusal)
        #expect(CommandFailure(error).status == .notAuthorized)
    }

    @Test(arguments: [
        (StoreError.Code.damaged, 74), (.inUse, 75), (.wrongKey, 74), (.wiped, 77), (.notFound, 64),
    ])
    func storeErrorsHaveTheirExitStatus(code: StoreError.Code, status: Int) {
        #expect(CommandFailure(StoreError(code, "It failed.")).status.rawValue == Int32(status))
    }

    @Test(arguments: [
        (GatewayError.Code.invalid, 64), (.cannotBind, 69), (.unreachable, 69), (.inUse, 75),
        (.unsafePermissions, 74), (.store, 74), (.unauthorized, 77), (.notFound, 64),
    ])
    func gatewayErrorsHaveTheirExitStatus(code: GatewayError.Code, status: Int) {
        #expect(CommandFailure(GatewayError(code, "It failed.")).status.rawValue == Int32(status))
        // A running gateway's answer tells the code by its name.
        let told = ConsoleReply.failure(.init(name: "\(code)", message: "It failed."))
        #expect(told.status.rawValue == Int32(status))
    }

    @Test func aFailureWithoutAKnownNameIsOneOfUsage() {
        #expect(ConsoleReply.failure(.init(name: "malformed", message: "It failed.")).status == .usage)
    }

    @Test func withdrawalReportsItsResultCode() {
        let failure = CommandFailure(LoadError(AccessDenied(.withdrawn, code: .wiped)))
        #expect(failure.code == -302)
        #expect(failure.name == "wiped")
        #expect(failure.status == .notAuthorized)
    }

    @Test func unknownErrorsAreNotOurs() {
        struct Other: Error {}
        #expect(CommandFailure(Other()) == nil)
        #expect(SallyportProgram.failure(of: Other(), arguments: ["cookies", "list"]).status == .software)
        let invalid = ValidationError("No such cookie.")
        #expect(SallyportProgram.failure(of: invalid, arguments: ["cookies", "list"]).status == .usage)
    }
}
