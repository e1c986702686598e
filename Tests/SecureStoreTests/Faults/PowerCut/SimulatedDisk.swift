import FoundationEssentials
import Glibc
import StoreWorkload

/// A disk with a cache that loses power: what was flushed is there; of what was not, any part, in any order, and of a
/// write any of its sectors. The entries of a directory are flushed with it, each for itself.
final class SimulatedDisk {
    static let sector = 512

    enum Change {
        case write(offset: Int, bytes: [UInt8])
        case truncate(Int)
    }

    final class File {
        var durable: [UInt8] = []
        var pending: [Change] = []
    }

    final class Directory {
        var durable: [String: Node] = [:]
        var now: [String: Node] = [:]
        var pending: [(name: String, node: Node?)] = []

        func set(_ node: Node?, for name: String) {
            now[name] = node
            pending.append((name, node))
        }
    }

    enum Node {
        case file(File)
        case directory(Directory)
    }

    private let prefix: String
    private let root = Directory()
    private var openings: [UInt32: File] = [:]

    init(root path: String) { prefix = path + "/" }

    func apply(_ entry: Recording.Entry) {
        switch entry {
        case .opened(let opening, let path, let truncates): open(path, as: opening, truncates: truncates)
        case .wrote(let opening, let offset, let bytes, let isDurable):
            guard let file = openings[opening] else { return }
            let change = Change.write(offset: offset, bytes: bytes)
            if isDurable { Self.perform(change, on: &file.durable) } else { file.pending.append(change) }
        case .truncated(let opening, let length): openings[opening]?.pending.append(.truncate(length))
        case .synced(let opening):
            guard let file = openings[opening] else { return }
            for change in file.pending { Self.perform(change, on: &file.durable) }
            file.pending = []
        case .syncedDirectory(let path):
            guard let directory = directory(at: path) else { return }
            directory.durable = directory.now
            directory.pending = []
        case .renamed(let path, let other):
            guard let (from, name) = parent(of: path), let (to, newName) = parent(of: other) else { return }
            let node = from.now[name]
            to.set(node, for: newName)
            from.set(nil, for: name)
        case .linked(let path, let other):
            guard let (from, name) = parent(of: path), let (to, newName) = parent(of: other) else { return }
            to.set(from.now[name], for: newName)
        case .removed(let path): if let (directory, name) = parent(of: path) { directory.set(nil, for: name) }
        case .madeDirectory(let path):
            if let (directory, name) = parent(of: path) { directory.set(.directory(Directory()), for: name) }
        case .said: break
        }
    }

    private func open(_ path: String, as opening: UInt32, truncates: Bool) {
        guard let (directory, name) = parent(of: path) else { return }
        if case .file(let file) = directory.now[name] {
            openings[opening] = file
            if truncates { file.pending.append(.truncate(0)) }
            return
        }
        let file = File()
        openings[opening] = file
        directory.set(.file(file), for: name)
    }

    private func directory(at path: String) -> Directory? {
        var directory = root
        for name in (path + "/").dropFirst(prefix.count).split(separator: "/") {
            guard case .directory(let next) = directory.now[String(name)] else { return nil }
            directory = next
        }
        return directory
    }

    private func parent(of path: String) -> (Directory, String)? {
        guard path.hasPrefix(prefix), let slash = path.lastIndex(of: "/") else { return nil }
        return directory(at: String(path[..<slash])).map { ($0, String(path[path.index(after: slash)...])) }
    }

    static func perform(_ change: Change, on content: inout [UInt8]) {
        switch change {
        case .truncate(let length):
            if length < content.count { content.removeLast(content.count - length) }
            content += [UInt8](repeating: 0, count: length - content.count)
        case .write(let offset, let bytes): write(bytes[...], at: offset, to: &content)
        }
    }

    private static func write(_ bytes: ArraySlice<UInt8>, at offset: Int, to content: inout [UInt8]) {
        let end = offset + bytes.count
        if end > content.count { content += [UInt8](repeating: 0, count: end - content.count) }
        content.replaceSubrange(offset..<end, with: bytes)
    }
}

// MARK: What a cut leaves

extension SimulatedDisk {
    /// How much of what was not flushed is there.
    enum Survival: CaseIterable { case nothing, everything, beginning, some, torn }

    /// The files that a cut leaves, by path below the root; nil is a directory.
    typealias State = [String: [UInt8]?]

    /// - Parameter inFlight: a write that has not returned yet.
    func state(
        _ survival: Survival, inFlight: Recording.Entry?, _ random: inout SeededGenerator
    ) -> State {
        var state: State = [:]
        var flying: (File, Change)?
        if case .wrote(let opening, let offset, let bytes, _) = inFlight, let file = openings[opening] {
            flying = (file, .write(offset: offset, bytes: bytes))
        }
        collect(root, "", survival, flying, &random, &state)
        return state
    }

    private func collect(
        _ directory: Directory, _ path: String, _ survival: Survival, _ flying: (File, Change)?,
        _ random: inout SeededGenerator, _ state: inout State
    ) {
        for (name, node) in entries(of: directory, survival, &random).sorted(by: { $0.key < $1.key }) {
            switch node {
            case .directory(let inner):
                state[path + name] = .some(nil)
                collect(inner, path + name + "/", survival, flying, &random, &state)
            case .file(let file):
                var pending = file.pending
                if let flying, flying.0 === file { pending.append(flying.1) }
                state[path + name] = Self.content(file.durable, pending, survival, &random)
            }
        }
    }

    private func entries(
        of directory: Directory, _ survival: Survival, _ random: inout SeededGenerator
    ) -> [String: Node] {
        switch survival {
        case .nothing: return directory.durable
        case .everything: return directory.now
        case .beginning, .some, .torn:
            var entries = directory.durable
            // Each name for itself, and up to one of its changes.
            for name in Set(directory.pending.map(\.name)).sorted() {
                let changes = directory.pending.filter { $0.name == name }
                let count = Int.random(in: 0...changes.count, using: &random)
                if count > 0 { entries[name] = changes[count - 1].node }
            }
            return entries
        }
    }

    private static func content(
        _ durable: [UInt8], _ pending: [Change], _ survival: Survival, _ random: inout SeededGenerator
    ) -> [UInt8] {
        var content = durable
        var changes = pending
        switch survival {
        case .nothing: return content
        case .everything: break
        case .beginning: changes = Array(changes.prefix(Int.random(in: 0...changes.count, using: &random)))
        case .some, .torn:
            changes = changes.filter { _ in Bool.random(using: &random) }
            if Bool.random(using: &random) { changes.shuffle(using: &random) }
        }
        for change in changes {
            if survival == .torn { tear(change, &content, &random) } else { perform(change, on: &content) }
        }
        return content
    }

    private static func tear(_ change: Change, _ content: inout [UInt8], _ random: inout SeededGenerator) {
        guard case .write(let offset, let bytes) = change else { return perform(change, on: &content) }
        var start = offset
        while start < offset + bytes.count {
            let end = min((start / sector + 1) * sector, offset + bytes.count)
            if Bool.random(using: &random) {
                write(bytes[(start - offset)..<(end - offset)], at: start, to: &content)
            }
            start = end
        }
    }
}
