import FoundationEssentials
import Glibc
import Testing

/// What a child did to the files below a directory, call by call, and what it said in between.
struct Recording {
    enum Entry {
        case opened(UInt32, path: String, truncates: Bool)
        case wrote(UInt32, offset: Int, bytes: [UInt8], isDurable: Bool)
        case truncated(UInt32, length: Int)
        case synced(UInt32)
        case syncedDirectory(String)
        case renamed(String, to: String)
        case linked(String, to: String)
        case removed(String)
        case madeDirectory(String)
        case said(String)
    }

    /// The directory that was recorded.
    let root: String
    let entries: [Entry]

    /// Runs `StoreChild record` in a directory of its own.
    init(of scenario: String, in fixture: StoreFixture, fault: String? = nil) throws {
        root = "\(fixture.path)/\(scenario)"
        let log = "\(fixture.path)/\(scenario).log"
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
        var variables = ["SALLYPORT_RECORD": log, "SALLYPORT_RECORD_ROOT": root]
        variables["SALLYPORT_RECORD_FAULT"] = fault
        let child = try Child(["record", "\(root)/store", "\(root)/key", scenario], environment: variables)
        let lines = try child.readLines()
        let status = try child.wait()
        try #require(status == 0 && lines.contains("open"), "\(status) \(lines.suffix(2))")
        entries = try Self.parse(Array(try Data(contentsOf: URL(fileURLWithPath: log))))
    }

    private static func parse(_ bytes: [UInt8]) throws -> [Entry] {
        var entries: [Entry] = []
        var start = 0
        func number(_ offset: Int, _ count: Int) -> Int {
            (0..<count).reduce(0) { $0 | Int(bytes[start + offset + $1]) << (8 * $1) }
        }
        while start < bytes.count {
            let length = number(14, 4)
            let content = Array(bytes[start + 18..<start + 18 + length])
            let (flags, opening, offset) = (number(1, 1), UInt32(number(2, 4)), number(6, 8))
            entries.append(try entry(number(0, 1), flags, opening, offset, content))
            start += 18 + length
        }
        return entries
    }

    private static func entry(
        _ kind: Int, _ flags: Int, _ opening: UInt32, _ offset: Int, _ content: [UInt8]
    ) throws -> Entry {
        // Never used for written bytes: for each byte that is not UTF-8, the library throws an error whose origin Swift
        // Testing records, which would cost more than all of the replay.
        var text: String { String(decoding: content, as: UTF8.self) }
        switch kind {
        case 1: return .opened(opening, path: text, truncates: flags == 1)
        case 2: return .wrote(opening, offset: offset, bytes: content, isDurable: flags == 1)
        case 3: return .truncated(opening, length: offset)
        case 4: return .synced(opening)
        case 5: return .syncedDirectory(text)
        case 6:
            let paths = text.split(separator: "\n").map(String.init)
            return .renamed(paths[0], to: paths[1])
        case 11:
            let paths = text.split(separator: "\n").map(String.init)
            return .linked(paths[0], to: paths[1])
        case 7, 9: return .removed(text)
        case 8: return .madeDirectory(text)
        case 10: return .said(text.split(separator: "\n").joined(separator: "\n"))
        default: throw Child.Failure(description: "An entry of kind \(kind).")
        }
    }
}
