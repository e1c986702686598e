import SallyportAuthorization
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportWire
import TestSupport
import Testing

/// -102: the gateway takes the request for a certificate, and issues none that counts.
@Suite struct ProvisioningTests {
    @Test(arguments: ["", "no base64 !", "AAAA"]) func anAnswerThatIsNoneOfESTProvisionsNothing(_ body: String)
        async throws
    {
        try await expectProvisioningFails { Array(body.utf8) }
    }

    @Test func aCertificateForAnotherKeyProvisionsNothing() async throws {
        try await expectProvisioningFails {
            let other = try TestAuthority(name: "Others")
            return try Array(ESTBody.encode(CertificateBag([other.der]).serialized()).utf8)
        }
    }

    private func expectProvisioningFails(answering body: () throws -> [UInt8]) async throws {
        let fixture = try Fixture()
        let authorization = try await fixture.authorization(on: fixture.store())
        let bytes = try body()
        fixture.gateway.state.withLock { $0.bodies[ControlAPI.Path.enroll] = bytes }
        let error = await #expect(throws: AuthorizationError.self) {
            try await authorization.activate(link: fixture.gateway.link())
        }
        #expect(error?.code == .provisioningFailed && error?.result.rawValue == -102)
        #expect(authorization.state == .notAuthorized)
        fixture.gateway.state.withLock { $0.bodies = [:] }
        #expect(try await authorization.activate(link: fixture.gateway.link()).state == .authorized)
    }
}
