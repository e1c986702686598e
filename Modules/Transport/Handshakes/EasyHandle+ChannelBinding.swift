internal import CCurl
internal import COpenSSL
internal import SallyportLoading

extension EasyHandle {
    /// For the connection with the server; nil if it has no TLS. Only while the transfer has its connection.
    var channelBinding: ChannelBinding? {
        unsafe sallyport_get_tls(raw).flatMap { unsafe ChannelBinding(connection: OpaquePointer($0)) }
    }
}

extension ChannelBinding {
    /// Nil for a certificate whose signature has no hash function (RFC 5929 §4.1 leaves those open).
    init?(connection: OpaquePointer) {
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        let count = unsafe Int(sallyport_end_point(connection, &digest))
        guard count > 0 else { return nil }
        self.init(certificateHash: Array(digest.prefix(count)))
    }
}
