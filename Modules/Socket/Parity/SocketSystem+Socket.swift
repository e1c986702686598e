internal import SallyportCore
internal import SallyportLoading

extension SocketSystem {
    /// A documented socket, in ``SocketState/prepared``. Makes no connection.
    ///
    /// - Parameters:
    ///   - host: a name or an address.
    ///   - port: 1 to 65535.
    ///   - isSecure: whether TLS is spoken with the server.
    ///   - delegate: told what happens; not kept.
    /// - Throws: `invalidRequest` for what is no host or no port.
    public func socket(
        host: String, port: Int, isSecure: Bool, _ configuration: SocketConfiguration = SocketConfiguration(),
        delegate: (any SocketDelegate)? = nil
    ) throws(SocketError) -> SecureSocket {
        do throws(AddressError) {
            let endpoint = try Endpoint(host: Host(host), port: UInt16(exactly: port) ?? 0)
            return SecureSocket(
                SocketTarget(endpoint: endpoint, isSecure: isSecure, configuration: configuration), of: self,
                delegate: delegate)
        } catch {
            throw SocketError(Self.invalid(error))
        }
    }

    /// - Throws: `notAuthorized`, `withdrawn`.
    func checkAuthorized() throws(SocketError) {
        do throws(LoadError) {
            try gate.requireAuthorized()
        } catch {
            throw SocketError(error)
        }
    }
}
