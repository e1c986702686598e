internal import FoundationEssentials

/// A file of objects in PEM (RFC 7468).
package enum PEMFile {
    /// The objects of one kind, decoded.
    ///
    /// - Parameters:
    ///   - label: as in `-----BEGIN LABEL-----`.
    ///   - limit: of the file, in bytes.
    /// - Throws: `fileSystem` if the file cannot be read, or contains no such object.
    package static func blocks(_ label: String, at path: String, limit: Int) throws(LoadError) -> [[UInt8]] {
        let data: Data
        do {
            data = try Data(contentsOf: URL(filePath: path))
        } catch {
            throw LoadError(.fileSystem, "The PEM file cannot be read.", underlying: error)
        }
        guard data.count <= limit, let text = String(data: data, encoding: .utf8) else {
            throw LoadError(.fileSystem, "The PEM file is not text of at most \(limit) bytes.")
        }
        return try blocks(label, in: text)
    }

    package static func blocks(_ label: String, in text: String) throws(LoadError) -> [[UInt8]] {
        // The text before the first object, even if it is empty, is not an object.
        let blocks = text.split(separator: "-----BEGIN \(label)-----", omittingEmptySubsequences: false)
        let objects = try blocks.dropFirst().map(object)
        guard !objects.isEmpty else { throw LoadError(.fileSystem, "The PEM file holds no \(label).") }
        return objects
    }

    private static func object(_ block: Substring) throws(LoadError) -> [UInt8] {
        let lines = block.split(whereSeparator: \.isNewline).prefix { !$0.hasPrefix("-----END") }
        guard let data = Data(base64Encoded: lines.joined()), !data.isEmpty else {
            throw LoadError(.fileSystem, "An object of the PEM file is not base64.")
        }
        return Array(data)
    }
}
