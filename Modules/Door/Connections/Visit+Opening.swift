internal import SallyportCore
internal import SallyportLoading
internal import SallyportWire

/// How the opening of a way ended.
enum Opening: Sendable {
    case open(ByteStream)
    case refused(DoorRefusal)
    /// The program has closed its connection meanwhile.
    case left
}

extension Visit {
    /// Opens the way of a request in its turn, and gives that up as soon as the program has closed its connection: a
    /// server that does not answer would otherwise keep the turns of programs that wait no more.
    func opening(_ request: DoorRequest) async -> Opening {
        await withTaskGroup(of: Opening.self) { group in
            group.addTask { await self.openInTurn(request) }
            group.addTask {
                await self.waitUntilProgramLeaves(request.form)
                return .left
            }
            let first = await group.next() ?? .left
            group.cancelAll()
            let second = await group.next() ?? .left
            guard case .left = first else { return first }
            // The door is being shut down, which is what the record has to say.
            if Task.isCancelled { return second }
            if case .open(let stream) = second { stream.reset() }
            return .left
        }
    }

    private func openInTurn(_ request: DoorRequest) async -> Opening {
        guard await door.beginOpening() else {
            return .refused(Task.isCancelled ? DoorRefusal(LoadError.cancelled()) : .tooBusy)
        }
        let result: Opening
        do throws(LoadError) {
            result = .open(try await stream(to: request.target))
        } catch {
            result = .refused(DoorRefusal(error))
        }
        await door.endOpening()
        return result
    }

    /// Returns when the program has closed its connection, or the task is cancelled.
    ///
    /// The end of a program's side does not say whether the program has closed its connection or still reads: the
    /// kernel is asked. A program that first ends its side and closes later sends nothing then, so the kernel is asked
    /// again and again. Where it does not know, a program counts as gone that asks for a tunnel and does not wait for
    /// the reply.
    private func waitUntilProgramLeaves(_ form: DoorRequest.Form) async {
        await socket.waitForProgramsEnd()
        let isTunnel = form == .connect || form == .socks5
        while !Task.isCancelled {
            if await door.hasLeft(number) ?? isTunnel { return }
            try? await Task.sleep(for: .milliseconds(500))
        }
    }
}

extension DoorRefusal {
    static let tooBusy = DoorRefusal(
        "tooBusy", "Too many connections are being opened, and the turn of this one has not come in time.",
        .serviceUnavailable, error: ProxyStatus.ErrorType.connectionLimitReached)
}
