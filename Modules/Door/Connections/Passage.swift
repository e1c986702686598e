internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading
internal import Synchronization

/// Carries bytes between a program and a server, until both sides have ended theirs.
struct Passage: Sendable {
    let socket: DoorSocket
    let stream: ByteStream
    /// Of a request in absolute form, how its body ends: nothing behind it goes to the server.
    let onward: OnwardBody?
    /// Called when the server takes no more, and the program has all of what it sent: from then on the program has a
    /// moment to end its connection.
    let limitTheRest: @Sendable () async -> Void
    private let server = ServerEnds()

    /// - Parameter first: what the program has sent already.
    /// - Returns: nil if both sides ended theirs; else what broke it first.
    func run(after first: [UInt8]) async -> DoorRefusal? {
        resetWhenTheWayEnds()
        // One task for each direction, of which this is one: thousands of connections wait here.
        async let toServer = serveServer(first)
        let failure = await carryToProgram()
        await settle(failure)
        if failure == nil, onward != nil {
            // The exchange ends with its answer, even if the program has not sent its whole body.
            stream.close()
            await limitTheRest()
            _ = await toServer
            return nil
        }
        let unsent = await toServer
        return await socket.failure ?? unsent
    }

    /// Resets the program's connection as soon as the policy has ended the server's. A program that reads slowly would
    /// otherwise still get what came before, because nothing waits for the server while bytes wait for the program.
    private func resetWhenTheWayEnds() {
        // Not the stream itself, which keeps the closure.
        stream.channel.whenOver { [socket, weak channel = stream.channel] in
            guard let failure = channel?.failure, failure.endsTheWay else { return }
            Task { await socket.reset(because: DoorRefusal(failure)) }
        }
    }

    /// Ends both connections after a failure, so that the other direction ends too.
    private func settle(_ failure: DoorRefusal?) async {
        guard let failure else { return }
        await socket.reset(because: failure)
        stream.reset()
    }

    /// A server that takes no more does not break the other direction, which finds the end of what the server has sent:
    /// that may be an answer before the program has sent everything.
    private func serveServer(_ first: [UInt8]) async -> DoorRefusal? {
        do throws(LoadError) {
            let failure = try await carryToServer(first)
            await settle(failure)
            return failure
        } catch {
            if server.completes() { await limitTheRest() }
            // A program may send everything before it reads; what it still sends is read and dropped.
            while let bytes = try? await socket.read(), !bytes.isEmpty {}
            return DoorRefusal(error)
        }
    }

    /// - Returns: what is wrong with the program's side; nil if it has sent all that goes to the server.
    /// - Throws: why the server takes no more.
    private func carryToServer(_ first: [UInt8]) async throws(LoadError) -> DoorRefusal? {
        var body = onward
        do {
            var bytes: [UInt8]? = first.isEmpty ? try await nextOfBody(body) : first
            while let chunk = bytes {
                guard body?.take(chunk) ?? true else { return .brokenBody }
                let part = body.map { $0.isWhole ? $0.lastPart(of: chunk) : chunk } ?? chunk
                if !part.isEmpty { try await stream.write(part) }
                if body?.isWhole == true { return nil }
                bytes = try await socket.read()
            }
        } catch let error as LoadError {
            throw error
        } catch {
            return .programLost
        }
        // A body that is not whole has no regular end.
        if let body, !body.isWhole { return .programLost }
        if onward == nil { stream.closeWrite() }
        return nil
    }

    private func nextOfBody(_ body: OnwardBody?) async throws -> [UInt8]? {
        if let body, body.isWhole { return nil }
        return try await socket.read()
    }

    private func carryToProgram() async -> DoorRefusal? {
        do {
            while let bytes = try await stream.read() { try await socket.write(bytes) }
        } catch let error as LoadError {
            return DoorRefusal(error)
        } catch {
            return .programLost
        }
        await socket.endWriting()
        if server.completes() { await limitTheRest() }
        return nil
    }
}

/// Counts which directions of a server have ended; each tells it once.
private final class ServerEnds: Sendable {
    private let count = Atomic(0)

    /// Whether the other direction has ended before.
    func completes() -> Bool { count.wrappingAdd(1, ordering: .relaxed).newValue == 2 }
}

extension DoorRefusal {
    static let programLost = DoorRefusal("programLost", "The program's connection broke.")
    static let brokenBody = DoorRefusal("framing", "The chunks of the request's body are broken.")
}
