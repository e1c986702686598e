internal import SallyportBase

/// What binds a proof to the TLS connection over which it is sent, so that it cannot be passed on over another:
/// `tls-server-end-point` (RFC 5929 §4).
public struct ChannelBinding: Sendable, Hashable {
    /// The hash of the server's certificate, by its signature's hash function, or SHA-256 in place of MD5 and SHA-1.
    public let certificateHash: [UInt8]

    /// - Parameter certificateHash: as in ``certificateHash``; used as it is given.
    public init(certificateHash: [UInt8]) { self.certificateHash = certificateHash }

    /// The application data of a channel binding of GSS-API.
    public var data: [UInt8] { Array("tls-server-end-point:".utf8) + certificateHash }

    /// `gss_channel_bindings_struct` as bytes, without addresses (RFC 4121 §4.1.1.2): NTLM and Kerberos send its MD5.
    public var structure: [UInt8] {
        [UInt8](repeating: 0, count: 16) + UInt32(data.count).littleEndianBytes + data
    }
}
