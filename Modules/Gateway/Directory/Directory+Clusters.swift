internal import Crypto
internal import Foundation
internal import SallyportBase
internal import SallyportCore
internal import SallyportWire
internal import SwiftASN1
internal import X509

extension Directory {
    /// - Parameter pem: the authorities that may have issued the relays' certificates; nil for the gateway's own.
    mutating func setCluster(
        _ name: String, _ relays: [Relay], authorities pem: String? = nil
    ) throws(GatewayError) {
        guard Route.isClusterName(name), name != Route.mainCluster else {
            throw GatewayError(.invalid, "A cluster has a name of its own; \(Route.mainCluster) is the gateway's.")
        }
        guard (1...Limits.relays).contains(relays.count) else {
            throw GatewayError(.invalid, "A cluster has 1 to \(Limits.relays) relays.")
        }
        var parsed: [Relay] = []
        for relay in relays {
            guard (1...1000).contains(relay.priority) else { throw GatewayError(.invalid, "A priority is 1 to 1000.") }
            parsed.append(Relay(endpoint: try Self.endpoint(relay.endpoint).description, priority: relay.priority))
        }
        if clusters[name] == nil { try check(clusters.count, Limits.clusters, "clusters") }
        let authorities = try pem.map(ClusterAuthorities.init(pem:))
        var others = clusterAuthorities ?? [:]
        others[name] = authorities?.pem
        guard others.values.reduce(0, { $0 + $1.utf8.count }) <= ClusterAuthorities.maximumLength else {
            throw GatewayError(
                .invalid,
                "The authorities of all clusters have at most \(ClusterAuthorities.maximumLength) bytes of PEM.")
        }
        clusters[name] = parsed
        clusterAuthorities = others.isEmpty ? nil : others
    }

    mutating func removeCluster(_ name: String) throws(GatewayError) {
        guard clusters[name] != nil else {
            throw GatewayError(.notFound, "No cluster \(name) is set: `admin cluster list` shows them.")
        }
        guard !isUsed(cluster: name) else {
            throw GatewayError(.invalid, "Cluster \(name) is in use: change its routes first.")
        }
        clusters[name] = nil
        clusterAuthorities?[name] = nil
        if clusterAuthorities?.isEmpty == true { clusterAuthorities = nil }
    }

    /// A cluster's own authorities; nil if its relays have certificates of the gateway's.
    func authorities(of cluster: String) throws(GatewayError) -> ClusterAuthorities? {
        try clusterAuthorities?[cluster].map { pem throws(GatewayError) in try ClusterAuthorities(pem: pem) }
    }
}

/// The authorities of a cluster whose relays' certificates do not come from the gateway.
struct ClusterAuthorities: Sendable, Hashable {
    /// The most of one cluster.
    static let maximumCount = ConfigurationDocument.Limits.authorities
    /// The longest PEM text of all clusters together, in bytes: every configuration carries it.
    static let maximumLength = 64 << 10

    let ders: [[UInt8]]

    init(pem: String) throws(GatewayError) {
        guard pem.utf8.count <= Self.maximumLength, let ders = try? PEMFile.blocks("CERTIFICATE", in: pem) else {
            throw GatewayError(.invalid, "A cluster's authorities are certificates in PEM, of at most 64 KiB.")
        }
        guard ders.count <= Self.maximumCount else {
            throw GatewayError(.invalid, "A cluster has at most \(Self.maximumCount) authorities.")
        }
        guard ders.allSatisfy(Self.isAuthority) else {
            throw GatewayError(
                .invalid, "A cluster's authority is a certificate that may issue others (basicConstraints, CA:TRUE).")
        }
        self.ders = ders
    }

    private static func isAuthority(_ der: [UInt8]) -> Bool {
        guard let certificate = try? Certificate(derEncoded: der),
            case .isCertificateAuthority? = try? certificate.extensions.basicConstraints
        else { return false }
        return true
    }

    /// Without the text around the certificates.
    var pem: String {
        ders.map { der in
            let text = Data(der).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
            return "-----BEGIN CERTIFICATE-----\n\(text)\n-----END CERTIFICATE-----\n"
        }.joined()
    }

    /// The SHA-256 of each certificate, in hexadecimal.
    var fingerprints: [String] { ders.map { Hexadecimal.text(SHA256.hash(data: $0)) } }
}
