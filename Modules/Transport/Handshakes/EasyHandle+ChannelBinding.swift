internal import CCurl
internal import COpenSSL
internal import SallyportLoading

extension EasyHandle {
    /// Of the connection with the server; nil if it has no TLS, and for a certificate whose signature has no hash function
    /// (RFC 5929 §4.1 leaves those open). Only while the transfer has its connection.
    var channelBinding: ChannelBinding? {
        guard let connection = unsafe sallyport_get_tls(raw).map({ OpaquePointer($0) }) else { return nil }
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        let count = unsafe Int(sallyport_end_point(connection, &digest))
        return count > 0 ? ChannelBinding(certificateHash: Array(digest.prefix(count))) : nil
    }
}
