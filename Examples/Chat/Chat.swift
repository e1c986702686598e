// A chat over a socket with a delegate. Activate the app once, and let the administrator list the chat's server:
//
//     sallyport activate --link-file link --store /var/lib/chat
//     sallyport admin server add chat.corp.example:7000 --app com.example.chat --data /var/lib/gateway
//
// then talk, a line each; the end of input says good-bye:
//
//     swift run Chat /var/lib/chat chat.corp.example 7000 ann
//
// The server must send each line to all other clients, like `ncat --broker --listen 7000`; with --tls at the end of the
// arguments it must use TLS, like `ncat --broker --ssl`.
import Glibc
import Sallyport

/// Receives the callbacks of the socket.
final class ChatRoom: SocketDelegate {
    private let (ends, end) = AsyncStream.makeStream(of: Bool.self)
    private let (openings, opening) = AsyncStream.makeStream(of: Void.self)

    func onOpen(_ socket: SecureSocket) async {
        print("* connected by \(await socket.peer?.decision?.route.description ?? "")")
        opening.yield()
    }

    /// An incomplete text stays in the buffer until the rest has arrived.
    func onRead(_ socket: SecureSocket) async {
        if let text = await socket.readStream.unreadText() { print(text, terminator: "") }
        fflush(nil)
    }

    func onErr(_ error: SocketError, _ socket: SecureSocket) async {
        print("* \(error)")
        // A connection that could not be established causes no `onClose`.
        if await socket.socketState == .connecting { end.yield(false) }
    }

    func onClose(_ socket: SecureSocket) {
        print("* left")
        end.yield(true)
    }

    /// Whether there was a conversation that ended.
    func hasEnded() async -> Bool { await ends.first { _ in true } ?? false }
    func isOpen() async { _ = await openings.first { true } }
}

@main
struct Chat {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard (5...6).contains(arguments.count), let port = Int(arguments[3]) else {
            print("usage: Chat STORE HOST PORT NAME [--tls]")
            exit(64)
        }
        let sallyport = try await Sallyport.open(store: arguments[1], protectedBy: .keyFile("\(arguments[1])/key"))
        try await sallyport.authorize()
        let room = ChatRoom()
        let socket = try sallyport.sockets.socket(
            host: arguments[2], port: port, isSecure: arguments.last == "--tls", delegate: room)
        try await socket.connect()
        let talking = Task { try await talk(as: arguments[4], over: socket, in: room) }
        let isGood = await room.hasEnded()
        talking.cancel()
        await sallyport.shutdown()
        exit(isGood ? 0 : 1)
    }

    /// Sends each line of standard input. Reading blocks, and so does not run on the threads of tasks.
    @concurrent
    private static func talk(as name: String, over socket: SecureSocket, in room: ChatRoom) async throws {
        await room.isOpen()
        for await line in lines() {
            try await socket.writeStream.append("\(name): \(line)\n")
            try await socket.write()
        }
        try await socket.disconnect()
    }

    private static func lines() -> AsyncStream<String> {
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        var thread = pthread_t()
        let reader = Unmanaged.passRetained(LineReader(continuation)).toOpaque()
        pthread_create(&thread, nil, readLines, reader)
        pthread_detach(thread)
        return stream
    }
}

private final class LineReader {
    let continuation: AsyncStream<String>.Continuation
    init(_ continuation: AsyncStream<String>.Continuation) { self.continuation = continuation }
}

private func readLines(_ reader: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let reader else { return nil }
    let continuation = Unmanaged<LineReader>.fromOpaque(reader).takeRetainedValue().continuation
    while let line = readLine() { continuation.yield(line) }
    continuation.finish()
    return nil
}
