import FoundationEssentials
import SallyportCore
import SallyportURLLoading
import TestSupport
import Testing

@Suite struct ServerTrustTests {
    @Test(arguments: ["", "A comment of openssl's\n"])
    func everyCertificateOfAFileCounts(before preamble: String) throws {
        let authorities = [try TestAuthority(), try TestAuthority()]
        let text = try preamble + authorities.map { try $0.pem }.joined()
        #expect(try Self.trust(text) == .only(authorities.map { try $0.der }))
    }

    @Test(arguments: ["", "no certificate", "-----BEGIN CERTIFICATE-----\n*\n-----END CERTIFICATE-----\n"])
    func aFileWithoutCertificatesIsRefused(_ text: String) {
        let error = #expect(throws: LoadError.self) { try Self.trust(text) }
        #expect(error?.code == .fileSystem)
    }

    private static func trust(_ text: String) throws -> ServerTrust {
        let path = "/tmp/sallyport-trust-\(UUID().uuidString).pem"
        try Data(text.utf8).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try ServerTrust.only(pemFile: path)
    }
}
