import Glibc

/// Words of a command line, or an environment, as the system has them: bytes, each string with a zero at its end.
///
/// The name of a file or a password need not be UTF-8, and `String` puts another character in the place of what is not:
/// a program that is started with that finds no such file.
struct SystemStrings: Sendable {
    private let all: [[CChar]]

    private init(all: [[CChar]]) { self.all = all }

    /// - Parameter list: ends with nil.
    private init(copying list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) {
        var all: [[CChar]] = []
        var rest = list
        while let place = rest, let string = place.pointee {
            all.append(Array(UnsafeMutableBufferPointer(start: string, count: strlen(string) + 1)))
            rest = place + 1
        }
        self.all = all
    }

    init(_ texts: [String]) { all = texts.map { Array($0.utf8CString) } }

    /// The last words of this process's command line, byte by byte.
    ///
    /// - Parameter words: as they were parsed. They are taken if the command line of the process does not end with
    ///   them, because they come from elsewhere.
    init(endOfCommandLine words: [String]) {
        let given = SystemStrings(copying: CommandLine.unsafeArgv)
        let end = SystemStrings(all: Array(given.all.suffix(words.count)))
        self = end.texts == words ? end : SystemStrings(words)
    }

    /// The environment of this process, byte by byte.
    static var environment: SystemStrings { SystemStrings(copying: environ) }

    /// With what is no UTF-8 replaced.
    private var texts: [String] {
        all.map { String(decoding: $0.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self) }
    }

    static func + (first: SystemStrings, second: SystemStrings) -> SystemStrings {
        SystemStrings(all: first.all + second.all)
    }

    /// An environment in which these variables have these values.
    func setting(_ variables: [(name: String, value: String)]) -> SystemStrings {
        let names = variables.map { "\($0.name)=".utf8CString.dropLast() }
        let others = all.filter { entry in !names.contains { entry.starts(with: $0) } }
        return SystemStrings(all: others) + SystemStrings(variables.map { "\($0.name)=\($0.value)" })
    }

    /// As ``withPointers(_:)``, with the first word, which is the program's name or path.
    func withProgram<Result>(
        _ body: (_ program: UnsafePointer<CChar>, _ words: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        withPointers { words in body(all.first ?? [0], words) }
    }

    /// Calls `body` with the strings as C takes them: a list that ends with nil.
    func withPointers<Result>(_ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result) -> Result {
        var pointers: [UnsafeMutablePointer<CChar>?] = all.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        return body(&pointers)
    }
}
