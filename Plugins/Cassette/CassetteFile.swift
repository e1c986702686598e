internal import FoundationEssentials
internal import SallyportBase

/// The file of a cassette.
enum CassetteFile {
    static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    @concurrent
    static func read(_ path: String, _ limit: ByteCount) async throws(CassetteError) -> [UInt8] {
        do throws(BoundedFile.Failure) {
            return try BoundedFile.read(path, upTo: limit.bytes)
        } catch {
            guard error.reason != .tooLong else {
                throw CassetteError(.tooLarge, "The file is longer than \(limit).")
            }
            throw CassetteError(.unreadable, "The file cannot be read.", underlying: error)
        }
    }

    /// Beside the target first, then in its place.
    @concurrent
    static func write(_ bytes: [UInt8], to path: String, _ limit: ByteCount) async throws(CassetteError) {
        guard bytes.count <= limit.bytes else {
            throw CassetteError(.tooLarge, "The file would be longer than \(limit).")
        }
        do {
            try Data(bytes).write(to: URL(filePath: path), options: .atomic)
        } catch {
            throw CassetteError(.unwritable, "The file cannot be written.", underlying: error)
        }
    }
}
