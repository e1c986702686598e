internal import Foundation
package import SallyportCore
package import SallyportSocketDiagnosis

/// What a foreign relay asks a guard at a CONNECT: one line of seven fields with a space between them.
///
/// `CLIENT PORT LOCAL PORT HOST PORT CERTIFICATE`: the client's end of its connection to the relay, the relay's own
/// end, CONNECT's target, and the client's certificate, DER in base64. IPv6 addresses may be in brackets.
package struct GuardQuestion: Sendable, Hashable {
    /// The longest line, in bytes, without its end.
    package static let maximumLine = 16 << 10
    /// The longest certificate, DER, in bytes.
    static let maximumCertificate = 8 << 10

    /// As the relay sees the connection of the client.
    package let ends: SocketEnds
    package let target: Endpoint
    /// DER. That the client has its key was the relay's to verify.
    package let certificate: [UInt8]

    package init(ends: SocketEnds, target: Endpoint, certificate: [UInt8]) {
        self.ends = ends
        self.target = target
        self.certificate = certificate
    }

    /// Reads a line, without its end. Throws the message for the relay.
    package init(line: [UInt8]) throws(GuardMistake) {
        guard line.count <= Self.maximumLine else { throw GuardMistake("The line is longer than 16384 bytes.") }
        guard line.allSatisfy({ (0x21...0x7e).contains($0) || $0 == 0x20 }) else {
            throw GuardMistake("The line is not printable ASCII.")
        }
        let fields = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard fields.count == 7 else { throw GuardMistake("A line has seven fields.") }
        let addresses = try Addresses(Array(fields[..<6]))
        guard let certificate = Data(base64Encoded: fields[6]), !certificate.isEmpty,
            certificate.count <= Self.maximumCertificate
        else { throw GuardMistake("The certificate is not base64 of 1 to 8192 bytes.") }
        self.init(ends: addresses.ends, target: addresses.target, certificate: Array(certificate))
    }

    /// Without its end; ``init(line:)`` reads the same from it.
    package var line: [UInt8] {
        let (client, local) = (ends.remote, ends.local)
        let head = "\(client.address) \(client.port) \(local.address) \(local.port) \(target.host) \(target.port) "
        return Array((head + Data(certificate).base64EncodedString()).utf8)
    }

    /// The six fields before the certificate, in either form of a question.
    struct Addresses {
        let ends: SocketEnds
        let target: Endpoint

        init(_ fields: [String]) throws(GuardMistake) {
            guard fields.count == 6, let remote = Self.end(fields[0], fields[1]),
                let local = Self.end(fields[2], fields[3])
            else { throw GuardMistake("A connection has the addresses and ports of both ends.") }
            ends = SocketEnds(local: local, remote: remote)
            guard let port = Self.port(fields[5]), let host = try? SallyportCore.Host(fields[4]),
                let target = try? Endpoint(host: host, port: port)
            else { throw GuardMistake("The target is not a host and a port.") }
            self.target = target
        }

        private static func end(_ address: String, _ port: String) -> SocketEnd? {
            let isBracketed = address.hasPrefix("[") && address.hasSuffix("]")
            guard let address = IPAddress(isBracketed ? String(address.dropFirst().dropLast()) : address),
                let port = Self.port(port)
            else { return nil }
            return SocketEnd(address, port: port)
        }

        private static func port(_ text: String) -> UInt16? {
            guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
                let port = UInt16(text),
                port > 0
            else { return nil }
            return port
        }
    }
}

/// Why a question was not understood. Contains nothing that the client sent.
package struct GuardMistake: Error, Sendable, Hashable {
    package let message: String

    package init(_ message: String) { self.message = message }
}
