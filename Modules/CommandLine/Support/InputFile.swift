/// Files that are given to a command.
enum InputFile {
    /// The longest file that is sent to a gateway, in bytes.
    static let limit = 1 << 20

    /// The text of a file; `-` is standard input.
    static func text(_ path: String, limit: Int = Self.limit) throws(CommandFailure) -> String {
        guard let text = String(validating: try bytes(path, limit: limit), as: UTF8.self) else {
            throw CommandFailure(.usage, name: "invalid", "\(name(of: path)) is not UTF-8 text.")
        }
        return text
    }

    /// The first line of a file, without its end; `-` is standard input.
    static func firstLine(_ path: String, limit: Int) throws(CommandFailure) -> String {
        firstLine(of: try text(path, limit: limit))
    }

    /// The first line of a text, without its end. To Swift, CR LF is one character.
    static func firstLine(of text: String) -> String { String(text.prefix { $0 != "\n" && $0 != "\r\n" }) }

    /// The failure if the first line has nothing.
    ///
    /// - Parameter content: what it should have been.
    static func isEmpty(_ path: String, _ content: String) -> CommandFailure {
        let name = path == "-" ? "standard input" : path
        return CommandFailure(.usage, name: "invalid", "The first line of \(name), \(content), is empty.")
    }

    /// The bytes of a file; `-` is standard input. Reads no more than the limit and one byte.
    static func bytes(_ path: String, limit: Int) throws(CommandFailure) -> [UInt8] {
        // A second reading would find nothing, and take that for an empty file.
        guard path != "-" || Workplace.current.takeInput() else {
            throw CommandFailure(
                .usage, name: "invalid",
                "Standard input is given twice: only one of what the command reads can come from it.")
        }
        let place = try path == "-" ? path : Workplace.current.path(path)
        do throws(FileDescriptor.Failure) {
            return try FileDescriptor(reading: place).read(upTo: limit)
        } catch {
            throw failure(error, path: path, limit: limit)
        }
    }

    private static func failure(_ failure: FileDescriptor.Failure, path: String, limit: Int) -> CommandFailure {
        switch failure {
        case .tooLarge: CommandFailure(.usage, name: "tooLarge", "\(name(of: path)) is longer than \(limit) bytes.")
        case .system(let number):
            CommandFailure(.inputOutput, name: "file", "\(name(of: path)) cannot be read: \(SystemText.of(number)).")
        }
    }

    /// As messages call it.
    static func name(of path: String) -> String { path == "-" ? "Standard input" : path }
}
