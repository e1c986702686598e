internal import Glibc
internal import SallyportCore

/// How slowly a connection speaks, and how it ends.
extension TestConnection {
    /// Says that nothing more comes, and waits until the peer has left: a close with unread bytes would be a reset,
    /// which may overtake what was written.
    package func finish() {
        shutdown(descriptor, Int32(SHUT_WR))
        awaitEnd()
    }

    /// Keeps the kernel from holding back what is written until the peer has acknowledged what came before.
    package func sendAtOnce() {
        var isOn: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Holds this connection's thread.
    package func pause(_ time: Duration) {
        let (seconds, attoseconds) = time.components
        usleep(useconds_t(seconds * 1_000_000 + attoseconds / 1_000_000_000_000))
    }

    /// Writes the same again and again, with pauses, until the peer has left; at most for 20 s.
    package func trickle(_ text: String, every time: Duration) {
        let end = ContinuousClock.now + .seconds(20)
        while ContinuousClock.now < end, write(text) { pause(time) }
    }
}

// MARK: From this process

extension TestConnection {
    /// Lets the peer, which is of this process, give its kernel only a few KiB at once.
    ///
    /// - Returns: whether its socket was found.
    package func narrowPeer() -> Bool {
        guard let peer = peerDescriptor() else { return false }
        var size = Int32(8 << 10)
        return setsockopt(peer, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size)) == 0
    }

    /// From how many bytes on the kernel reports to the peer, which is of this process, that it can read; nil if its
    /// socket was not found.
    package var peerReportsFrom: Int32? {
        guard let peer = peerDescriptor() else { return nil }
        var (count, length) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
        return getsockopt(peer, SOL_SOCKET, SO_RCVLOWAT, &count, &length) == 0 ? count : nil
    }

    private func peerDescriptor() -> Int32? {
        var peer = LoopbackAddress()
        guard peer.with({ getpeername(descriptor, $0, $1) }) == 0 else { return nil }
        return (Int32(0)..<4096).first { other in
            var own = LoopbackAddress()
            return own.with({ getsockname(other, $0, $1) }) == 0 && own.isSame(as: peer)
        }
    }
}

// MARK: To another server

extension TestConnection {
    /// Passes bytes on between the peer and a server on a port of the loopback, and ends after so many of the server's.
    package func relay(to port: UInt16, cuttingAfter limit: Int) {
        pump(to: port, limit)
        shutdown(descriptor, Int32(SHUT_WR))
        awaitEnd()
    }

    /// The same, but then says nothing more until the peer leaves.
    package func relay(to port: UInt16, stallingAfter limit: Int) {
        pump(to: port, limit)
        awaitEnd()
    }

    private func pump(to port: UInt16, _ limit: Int) {
        guard let descriptor = LoopbackPort.connect(port) else { return }
        defer { close(descriptor) }
        let server = TestConnection(descriptor)
        var rest = limit
        while rest > 0 {
            var ends = [self, server].map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
            guard poll(&ends, 2, 20_000) > 0 else { return }
            if ends[0].revents != 0 {
                let bytes = read()
                guard !bytes.isEmpty, server.write(bytes) else { return }
            }
            if ends[1].revents != 0 {
                let bytes = server.read(upTo: rest)
                guard !bytes.isEmpty, write(bytes) else { return }
                rest -= bytes.count
            }
        }
    }
}
