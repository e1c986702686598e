internal import CSocketDiagnosis
internal import Glibc

/// Asks the kernel about TCP connections of this network namespace, and ends them (sock_diag(7)). Closed with this
/// value.
///
/// Every call returns within a second; normally in some microseconds, a list of 10,000 connections in some 10 ms. To
/// look needs no privilege, to end CAP_NET_ADMIN.
package struct SocketDiagnosis: ~Copyable {
    private let descriptor: Int32
    private var sequence: UInt32 = 0
    private var buffer = [UInt8](repeating: 0, count: SocketAnswer.maximumLength)

    package init() throws(SocketDiagnosisError) {
        let opened = sallyport_socket_diagnosis_open()
        guard opened >= 0 else { throw SocketDiagnosisError(-opened) }
        descriptor = opened
    }

    deinit { close(descriptor) }

    /// The connection with these ends; nil if there is none.
    package mutating func connection(_ ends: SocketEnds) throws(SocketDiagnosisError) -> TCPConnection? {
        guard let search = TCPConnection(searching: ends) else { return nil }
        return try look(search)
    }

    /// Whether a connection is still there: a later one with the same ends does not count.
    package mutating func isThere(_ connection: TCPConnection) throws(SocketDiagnosisError) -> Bool {
        try look(connection) != nil
    }

    private mutating func look(_ connection: TCPConnection) throws(SocketDiagnosisError) -> TCPConnection? {
        let found: [TCPConnection]
        do { found = try ask(.look(connection)) } catch {
            // ESTALE: a socket with another cookie has the ends now.
            guard error.number == ENOENT || error.number == ESTALE else { throw error }
            return nil
        }
        // Where there is no connection, the kernel finds a socket that listens at the port.
        return found.first { $0.ends == connection.ends }
    }

    /// The connections at a local port, of both families.
    package mutating func connections(at port: UInt16) throws(SocketDiagnosisError) -> [TCPConnection] {
        let ipv4 = try ask(.list(family: 2, port: port))
        return try ipv4 + ask(.list(family: 10, port: port))
    }

    /// Ends a connection: this machine's side sees an error, the other one a reset.
    ///
    /// - Returns: false if it was there no longer.
    @discardableResult
    package mutating func destroy(_ connection: TCPConnection) throws(SocketDiagnosisError) -> Bool {
        do { _ = try ask(.destroy(connection)) } catch {
            guard error.number == ENOENT || error.number == ESTALE else { throw error }
            return false
        }
        return true
    }
}

// MARK: The exchange

extension SocketDiagnosis {
    private mutating func ask(_ question: SocketQuestion) throws(SocketDiagnosisError) -> [TCPConnection] {
        sequence &+= 1
        let bytes = question.bytes(sequence: sequence)
        let sent = unsafe sallyport_socket_diagnosis_send(descriptor, bytes, bytes.count)
        guard sent == 0 else { throw SocketDiagnosisError(-sent) }
        var found: [TCPConnection] = []
        while true {
            for answer in try receive() {
                switch answer {
                case .connection(let connection):
                    found.append(connection)
                    if case .look = question { return found }
                case .done: return found
                case .failure(let number):
                    guard number != 0 else { return found }
                    throw SocketDiagnosisError(number)
                case .other: break
                }
            }
        }
    }

    /// The answers of the next datagram of the kernel's; those to an earlier question, which came late, are skipped.
    private mutating func receive() throws(SocketDiagnosisError) -> [SocketAnswer] {
        var sender: UInt32 = 0
        let count = unsafe sallyport_socket_diagnosis_receive(descriptor, &buffer, buffer.count, &sender)
        guard count >= 0 else {
            if count == -Int(EINTR) { return [] }
            throw SocketDiagnosisError(Int32(-count))
        }
        guard sender == 0 else { return [] }
        guard count <= buffer.count, let answers = SocketAnswer.answers(in: Array(buffer[..<count]), to: sequence)
        else { throw SocketDiagnosisError(EBADMSG) }
        return answers
    }
}
