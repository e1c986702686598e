internal import SallyportConnecting
internal import SallyportCore
internal import SallyportLoading

extension SocketSystem {
    /// Creates a socket with a delegate, in ``SocketState/prepared``. Makes no connection.
    ///
    /// - Parameters:
    ///   - host: a name or an address.
    ///   - port: 1 to 65535.
    ///   - isSecure: whether the connection to the server uses TLS.
    ///   - configuration: time limits, trust and pins.
    ///   - delegate: is called when something happens; held weakly.
    /// - Throws: `invalidRequest` for an invalid host or port.
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
            try connector.gate?.requireAuthorized()
        } catch {
            throw SocketError(error)
        }
    }
}
