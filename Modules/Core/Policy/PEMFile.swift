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
            let isThere = FileManager.default.fileExists(atPath: path)
            throw LoadError(
                .fileSystem, isThere ? "\(path) cannot be read." : "There is no file \(path).", underlying: error)
        }
        guard data.count <= limit, let text = String(data: data, encoding: .utf8) else {
            throw LoadError(.fileSystem, "\(path) is not text of at most \(limit) bytes, as a PEM file is.")
        }
        return try blocks(label, in: text, of: path)
    }

    /// - Parameter name: of the text, for errors.
    package static func blocks(
        _ label: String, in text: String, of name: String = "The PEM text"
    ) throws(LoadError) -> [[UInt8]] {
        // The text before the first object, even if it is empty, is not an object.
        let blocks = text.split(separator: "-----BEGIN \(label)-----", omittingEmptySubsequences: false).dropFirst()
        guard !blocks.isEmpty else {
            throw LoadError(.fileSystem, "\(name) holds no line -----BEGIN \(label)-----, as PEM has it.")
        }
        return try blocks.map { block throws(LoadError) in
            guard let object = object(block) else {
                throw LoadError(.fileSystem, "What \(name) holds as \(label) is not base64.")
            }
            return object
        }
    }

    private static func object(_ block: Substring) -> [UInt8]? {
        let lines = block.split(whereSeparator: \.isNewline).prefix { !$0.hasPrefix("-----END") }
        guard let data = Data(base64Encoded: lines.joined()), !data.isEmpty else { return nil }
        return Array(data)
    }
}
