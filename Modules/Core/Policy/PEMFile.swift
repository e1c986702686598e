internal import FoundationEssentials
internal import SallyportBase

/// A file of objects in PEM (RFC 7468).
package enum PEMFile {
    /// The objects of one kind, decoded.
    ///
    /// - Parameters:
    ///   - label: as in `-----BEGIN LABEL-----`.
    ///   - limit: of the file, in bytes.
    ///   - isReady: given if the path, of the command line, may lead to a pipe: waits for what can be read of it;
    ///     false to give up.
    /// - Throws: `fileSystem` if the file cannot be read, or contains no such object.
    package static func blocks(
        _ label: String, at path: String, limit: Int, awaiting isReady: ((Int32) -> Bool)? = nil
    ) throws(LoadError) -> [[UInt8]] {
        let content: [UInt8]
        do throws(BoundedFile.Failure) {
            content = try BoundedFile.read(path, upTo: limit, awaiting: isReady)
        } catch {
            throw failure(error, path, limit)
        }
        guard let text = String(validating: content, as: UTF8.self) else { throw isNoText(path, limit) }
        return try blocks(label, in: text, of: path)
    }

    private static func failure(_ failure: BoundedFile.Failure, _ path: String, _ limit: Int) -> LoadError {
        switch failure.reason {
        case .tooLong: isNoText(path, limit)
        case .missing: LoadError(.fileSystem, "There is no file \(path).", underlying: failure)
        case .notRegular: LoadError(.fileSystem, failure.description, underlying: failure)
        case .system: LoadError(.fileSystem, "\(path) cannot be read.", underlying: failure)
        }
    }

    private static func isNoText(_ path: String, _ limit: Int) -> LoadError {
        LoadError(.fileSystem, "\(path) is not text of at most \(limit) bytes, as a PEM file is.")
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
