import Foundation
import MutantWeaving

/// A copy of the tests' sources with the mutants woven in. An unchanged file keeps its modification time, so that only
/// changed files are built again.
struct Copy {
    private static let parts = [
        "Package.swift", "Package.resolved", "Modules", "Plugins", "Tests", "Examples", "Makefile", "Docs",
    ]
    private let repository: URL
    let folder: URL

    init(of repository: URL, in folder: URL) {
        (self.repository, self.folder) = (repository, folder)
    }

    func update(with woven: WovenSources) throws {
        let sources = try Set(Self.parts.flatMap { try files(below: $0, in: repository) })
        for path in try Set(Self.parts.flatMap { try files(below: $0, in: folder) })
            .subtracting(sources).subtracting(woven.texts.keys)
        {
            try FileManager.default.removeItem(at: folder.appending(path: path))
        }
        for path in sources where woven.texts[path] == nil { try copy(path) }
        for (path, text) in woven.texts { try write(text, to: path) }
    }

    private func files(below part: String, in root: URL) throws -> [String] {
        let path = root.appending(path: part).path
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { return [] }
        guard isFolder.boolValue, let enumerator = FileManager.default.enumerator(atPath: path) else { return [part] }
        return enumerator.compactMap { name in
            let isFile = enumerator.fileAttributes?[.type] as? FileAttributeType != .typeDirectory
            return isFile ? "\(part)/\(name)" : nil
        }
    }

    private func copy(_ path: String) throws {
        let (source, target) = (repository.appending(path: path), folder.appending(path: path))
        if FileManager.default.contentsEqual(atPath: source.path, andPath: target.path) { return }
        try prepare(target)
        try FileManager.default.copyItem(at: source, to: target)
    }

    private func write(_ text: String, to path: String) throws {
        let target = folder.appending(path: path)
        if let present = try? String(contentsOf: target, encoding: .utf8), present == text { return }
        try prepare(target)
        try text.write(to: target, atomically: true, encoding: .utf8)
    }

    private func prepare(_ target: URL) throws {
        try FileManager.default.createDirectory(
            at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
        try? FileManager.default.removeItem(at: target)
    }
}
