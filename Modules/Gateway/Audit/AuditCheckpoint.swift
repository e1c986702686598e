internal import Crypto
internal import Foundation
internal import SallyportBase
internal import SallyportWire
internal import SwiftASN1
internal import X509

/// Where every chain of a store ended at one moment, and where each begins since older entries were removed; signed with
/// the key with which a gateway signs configurations.
///
/// A chain of hashes alone does not show that its end was cut off. A checkpoint that lies elsewhere does.
struct AuditCheckpoint: Sendable, Hashable, Codable {
    /// `typ` of the JWS.
    static let type = "sallyport-audit"
    /// How much shorter than ``AuditRequest/checkpointLimit`` a new one is at most, so that it can be signed anew.
    private static let reserve = 16 << 10

    /// Counts the checkpoints of a store from 1.
    let number: Int64
    /// Milliseconds since 1970.
    let time: Int64
    /// The name of the gateway that has signed it.
    let gateway: String
    /// By the name of the chain.
    var heads: [String: Place]
    var starts: [String: Place]
    /// The generation of the signer, once the signature was verified; not a part of what is signed.
    private(set) var generation: Int64 = 0

    private enum CodingKeys: String, CodingKey { case number, time, gateway, heads, starts }

    /// An entry of a chain.
    struct Place: Sendable, Hashable, Codable {
        let number: Int64
        /// Base64url.
        let hash: String

        init(_ head: AuditHead) { (number, hash) = (head.number, Base64URL.encode(head.hash)) }

        var head: AuditHead { AuditHead(number: number, hash: (try? Base64URL.decode(hash.utf8)) ?? []) }
    }

    init(
        number: Int64, time: Int64, gateway: String, heads: [AuditChainName: AuditHead],
        starts: [AuditChainName: AuditHead]
    ) {
        (self.number, self.time, self.gateway) = (number, time, gateway)
        (self.heads, self.starts) = (Self.places(heads), Self.places(starts))
    }

    private static func places(_ heads: [AuditChainName: AuditHead]) -> [String: Place] {
        Dictionary(heads.map { ($0.key.text, Place($0.value)) }) { $1 }
    }

    /// Whether it says the same of the chains.
    func tells(_ heads: [AuditChainName: AuditHead], _ starts: [AuditChainName: AuditHead]) -> Bool {
        self.heads == Self.places(heads) && self.starts == Self.places(starts)
    }

    var headsByName: [AuditChainName: AuditHead] { Self.named(heads) }
    var startsByName: [AuditChainName: AuditHead] { Self.named(starts) }

    private static func named(_ places: [String: Place]) -> [AuditChainName: AuditHead] {
        Dictionary(places.compactMap { text, place in AuditChainName(text).map { ($0, place.head) } }) { $1 }
    }

    /// - Throws: `store` if there are too many chains: a checkpoint that is too long would not be trusted when it is
    ///   read.
    func signed(by signer: StoredIdentity) throws -> String {
        let text = try signedAnew(by: signer)
        guard text.utf8.count <= AuditRequest.checkpointLimit - Self.reserve else {
            throw GatewayError(
                .store,
                "The audit trail has \(heads.count) chains, one for each gateway and one for each relay that told it "
                    + "of access, and no checkpoint names so many: it has \(AuditRequest.checkpointLimit) bytes at most."
            )
        }
        return text
    }

    /// Signs what an earlier checkpoint says, which has the reserve in length for that.
    func signedAnew(by signer: StoredIdentity) throws -> String {
        try JWS.sign(
            WireJSON.encode(self), header: JWS.Header(type: Self.type, certificates: [signer.certificate]),
            with: signer.parsed().key)
    }

    /// Reads a checkpoint and verifies that a gateway under one of these authorities has signed it.
    ///
    /// - Parameters:
    ///   - authorities: DER.
    ///   - least: the signer is at least of this generation.
    /// - Throws: `invalid` for what is no checkpoint; `unauthorized` for one that is not signed as it must be.
    init(
        verifying text: String, authorities: [[UInt8]], generation least: Int64
    ) throws(GatewayError) {
        var limits = JWS.Limits()
        limits.document = AuditRequest.checkpointLimit
        do {
            let signed = try JWS(Array(text.utf8), type: Self.type, limits: limits)
            var checkpoint = try WireJSON.decode(Self.self, from: signed.payload, limit: limits.document)
            guard let der = signed.header.certificates.first,
                let signer = Self.signer(der, of: authorities, at: checkpoint.time, generation: least)
            else {
                throw GatewayError(
                    .unauthorized,
                    "The checkpoint is not signed by a gateway under an authority that is known here.")
            }
            try signed.verify(with: signer.key)
            checkpoint.generation = signer.generation
            self = checkpoint
        } catch let error as GatewayError {
            throw error
        } catch let error as WireError where error.code == .signature {
            throw GatewayError(.unauthorized, "The checkpoint's signature does not verify.", underlying: error)
        } catch {
            throw GatewayError(
                .invalid, "This is no checkpoint: `admin audit checkpoint` prints one.", underlying: error)
        }
    }

    /// The key and the generation of a signer of configurations, by its certificate, which must have been valid at the
    /// time of the checkpoint.
    private static func signer(
        _ der: [UInt8], of authorities: [[UInt8]], at time: Int64, generation least: Int64
    ) -> (key: P256.Signing.PublicKey, generation: Int64)? {
        let usage = ExtendedKeyUsage.Usage(oid: ObjectIdentifiers.configurationSigning)
        let date = Date(timeIntervalSince1970: Double(time) / 1000)
        guard let leaf = try? Certificate(derEncoded: der), leaf.notValidBefore <= date, date <= leaf.notValidAfter,
            let usages = try? leaf.extensions.extendedKeyUsage, usages.contains(usage),
            let constraints = try? leaf.extensions.basicConstraints, case .notCertificateAuthority = constraints,
            let value = leaf.extensions[oid: ObjectIdentifiers.signerGeneration]?.value,
            let generation = SignerGeneration.decode(value), generation >= least
        else { return nil }
        let isIssued = authorities.contains { authority in
            guard let authority = try? Certificate(derEncoded: authority) else { return false }
            return authority.subject == leaf.issuer
                && authority.publicKey.isValidSignature(leaf.signature, for: leaf)
        }
        guard isIssued, let key = P256.Signing.PublicKey(leaf.publicKey) else { return nil }
        return (key, generation)
    }
}

/// A checkpoint as a store keeps it.
struct StoredCheckpoint: Sendable, Hashable, Codable {
    /// As in the checkpoint; it is not trusted.
    let number: Int64
    /// The compact JWS.
    let text: String
}
