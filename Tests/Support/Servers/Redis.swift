internal import Foundation

/// A real Redis on a loopback address, with TLS on a second port; stopped with this value.
package final class Redis: Sendable {
    package let address: String
    package let port: UInt16
    package let securePort: UInt16
    private let process: ChildProcess

    /// - Parameters:
    ///   - identity: its TLS certificate.
    ///   - authority: the issuer of the certificate.
    package static func start(
        on address: String, in folder: TemporaryDirectory, showing identity: TestIdentity, of authority: TestAuthority
    ) async throws -> Redis {
        try folder.write(identity.pem, to: "redis.pem")
        try folder.write(identity.keyPEM, to: "redis.key")
        try folder.write(authority.pem, to: "redis-ca.pem")
        for _ in 0..<10 {
            let (port, securePort) = (LoopbackPort.free(), LoopbackPort.free())
            if let redis = try await Redis(address, port, securePort, folder) { return redis }
        }
        throw Unexpected("redis-server found no port")
    }

    private init?(
        _ address: String, _ port: UInt16, _ securePort: UInt16, _ folder: TemporaryDirectory
    ) async throws {
        (self.address, self.port, self.securePort) = (address, port, securePort)
        let process = try ChildProcess(
            "/usr/bin/env",
            [
                "redis-server", "--bind", address, "--port", "\(port)", "--tls-port", "\(securePort)",
                "--tls-cert-file", folder.file("redis.pem"), "--tls-key-file", folder.file("redis.key"),
                "--tls-ca-cert-file", folder.file("redis-ca.pem"), "--tls-auth-clients", "no", "--save", "",
                "--appendonly", "no", "--dir",
                folder.path, "--daemonize", "no", "--protected-mode", "no",
            ])
        self.process = process
        let isUp = try await eventually {
            !process.isRunning || process.output.contains("Ready to accept connections")
        }
        guard isUp, process.isRunning else { return nil }
    }
}
