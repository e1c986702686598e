/// Copies the newest snapshot of an open store into a new data file, and verifies it while copying.
enum StoreCopy {
    /// - Returns: the report on the copied records, which is sound.
    /// - Throws: ``StoreError/Code/damaged`` if it is not sound; the content of `directory` is useless then.
    static func run(
        _ environment: Environment, path: String, ring: KeyRing, into directory: String
    ) throws(StoreError) -> VerificationReport {
        var writer: DataFileWriter?
        let report = try StoreCheck.run(environment, path: path, ring: ring) {
            place, record, bytes throws(StoreError) in
            if writer == nil { writer = try DataFileWriter(directory: directory, capacity: bytes * 2 + (16 << 20)) }
            try writer?.append(record, at: place)
        }
        if let finding = report.findings.first(where: { $0.kind != .lostPages }) {
            throw StoreError(.damaged, "The store is damaged and was not copied. \(finding.message)")
        }
        if writer == nil { writer = try DataFileWriter(directory: directory, capacity: 0) }
        try writer?.finish()
        return report
    }
}
