internal import Hummingbird
internal import Logging
internal import NIOCore
internal import NIOSSL
internal import SallyportCore
internal import SallyportLoading

/// A request to the control plane, with the connection that it came on.
struct ControlContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    private let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }

    /// 64 KiB for all paths; that of relays' batches of events has a limit of its own.
    var maxUploadSize: Int { 64 << 10 }

    /// The peer's address for the log.
    var source: String { channel.remoteAddress?.ipAddress ?? "" }

    /// The source that limits apply to: an IPv4 address, or the 64-bit prefix of a site's IPv6 addresses.
    var network: [UInt8] { ConnectionSource(IPAddress(source)).network }

    /// False if the peer has disconnected, or if its connection was closed to make room.
    var isConnected: Bool { channel.isActive }

    /// Resets the connection, which is one of HTTP/1.1: its channel's parent is the listener.
    func cutOff() { channel.eventLoop.execute { channel.reset() } }

    /// The certificate that the client presented, DER; nil if there is none.
    ///
    /// On HTTP/2 the TLS handler belongs to the connection, which is the parent of the stream's channel.
    func peerCertificate() async throws -> [UInt8]? {
        do {
            return try await channel.nioSSL_peerCertificate().get()?.toDERBytes()
        } catch let error as ChannelPipelineError where error == .notFound {
            return try await channel.parent?.nioSSL_peerCertificate().get()?.toDERBytes()
        }
    }
}
