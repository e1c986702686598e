import SallyportLoading
import SallyportSocket

/// Asks a server that reads to the end of what it is sent, and then answers.
func balance(by sockets: SocketSystem) async throws -> [UInt8] {
    try await sockets.withConnection(to: "ledger.corp.example:7000", isSecure: true) { ledger in
        try await ledger.write("balance\n")
        ledger.closeWrite()  // the server sees the end of our side, and answers
        var reply: [UInt8] = []
        for try await chunk in ledger.bytes { reply += chunk }
        return reply
    }
}
