/// Files that are given to a command.
enum InputFile {
    /// The longest file that is sent to a gateway, in bytes.
    static let limit = 1 << 20

    /// The text of a file; `-` is standard input.
    ///
    /// - Parameter option: as of ``bytes(_:limit:ofSecret:)``.
    static func text(
        _ path: String, limit: Int = Self.limit, ofSecret option: String? = nil
    ) throws(CommandFailure) -> String {
        guard let text = String(validating: try bytes(path, limit: limit, ofSecret: option), as: UTF8.self) else {
            throw CommandFailure(.usage, name: "invalid", "\(name(of: path)) is not UTF-8 text.")
        }
        return text
    }

    /// The first line of a file, without its end; `-` is standard input.
    ///
    /// - Parameter option: as of ``bytes(_:limit:ofSecret:)``.
    static func firstLine(
        _ path: String, limit: Int, ofSecret option: String? = nil
    ) throws(CommandFailure) -> String {
        firstLine(of: try text(path, limit: limit, ofSecret: option))
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
    ///
    /// - Parameter option: the option that names the file of a secret. A failure to read the file names the option and
    ///   not the path, since the secret itself may have been given in the place of its file.
    static func bytes(
        _ path: String, limit: Int, ofSecret option: String? = nil
    ) throws(CommandFailure) -> [UInt8] {
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
            switch error {
            case .tooLarge:
                throw CommandFailure(.usage, name: "tooLarge", "\(name(of: path)) is longer than \(limit) bytes.")
            case .system(let number): throw unreadable(path, ofSecret: option, number)
            }
        }
    }

    private static func unreadable(_ path: String, ofSecret option: String?, _ number: Int32) -> CommandFailure {
        let subject = path == "-" ? name(of: path) : option.map { "The file of \($0)" } ?? path
        return CommandFailure(.inputOutput, name: "file", "\(subject) cannot be read: \(SystemText.of(number)).")
    }

    /// As messages call it.
    static func name(of path: String) -> String { path == "-" ? "Standard input" : path }
}
