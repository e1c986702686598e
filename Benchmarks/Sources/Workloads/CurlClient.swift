import CurlMultiPeer
import Glibc

/// libcurl in C; runs on the calling thread until it is done.
public struct CurlClient: PeerClient {
    private let peer: OpaquePointer

    public init(job: Job) throws {
        var options = curl_multi_peer_options()
        // The strings live as long as the process, which measures one job.
        options.url = UnsafePointer(strdup(job.url))
        options.ca_file = job.authorityFile.map { UnsafePointer(strdup($0)) }
        options.sends = job.sends ?? 0
        options.http2 = job.isHTTP2
        if let relay = job.relay {
            options.proxy_url = UnsafePointer(strdup(relay.url))
            options.proxy_ca_file = UnsafePointer(strdup(relay.authorityFile))
            options.proxy_certificate_file = UnsafePointer(strdup(relay.certificateFile))
            options.proxy_key_file = UnsafePointer(strdup(relay.keyFile))
        }
        guard let peer = curl_multi_peer_new(&options, Int32(job.concurrency)) else {
            throw PeerFailure("libcurl cannot be set up")
        }
        self.peer = peer
    }

    public func run(url: String, total: Int, concurrency: Int) async throws -> Int {
        let bytes = curl_multi_peer_run(peer, total)
        guard bytes >= 0 else { throw PeerFailure("libcurl: a transfer failed") }
        return Int(bytes)
    }

    public func shutdown() async throws { curl_multi_peer_free(peer) }
}
