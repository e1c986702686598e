internal import Foundation
internal import HashTreeCollections
internal import SallyportWire

extension GatewayData {
    /// What metrics tell of the stored data, as it was at one moment.
    struct StoredFigures: Sendable {
        private let directory: Directory
        private let records: InstanceTable
        /// By the certificate's name.
        let certificateEnds: [(name: String, end: Date)]

        fileprivate init(
            _ directory: Directory, _ records: InstanceTable, _ certificates: [(String, [UInt8])]
        ) {
            (self.directory, self.records) = (directory, records)
            certificateEnds = certificates.compactMap { name, der in
                CertificateAuthority.end(ofDER: der).map { (name, $0) }
            }
        }

        /// The number of instances of each status, also of one that none has.
        func instances() -> [String: Int] {
            let statuses: [ConfigurationDocument.Status] = [.active, .blocked, .locked, .wiped, .denied]
            var counts = Dictionary(uniqueKeysWithValues: statuses.map { ($0.rawValue, 0) })
            for record in records.values {
                let status = ConfigurationBuilder.status(of: record, entitled: directory.versions(for: record)).status
                counts[status.rawValue, default: 0] += 1
            }
            return counts
        }
    }

    /// Copies references only; the instances are counted by the task that asks, outside of this actor.
    func storedFigures() -> StoredFigures {
        StoredFigures(
            directory, instances,
            [("authority", authority.der), ("server", server.certificate), ("signer", signer.certificate)])
    }
}
