import Foundation

/// The client that is measured.
public enum Peer: String, Codable, Sendable, CaseIterable {
    case sallyport
    /// Sallyport, called from tasks that run on its event loop.
    case sallyportOnLoop = "loop"
    case asyncHTTPClient
    case urlSession
    /// libcurl's multi interface in C.
    case curl
}

/// One piece of work for one process: fetch a URL so many times, or send to it, so many at once.
public struct Job: Codable, Sendable {
    public var peer: Peer
    public var url: String
    /// Bytes of the body that each request sends; nil for a GET.
    public var sends: Int?
    public var total: Int
    public var concurrency: Int
    /// The authority of the server's certificate; nil for plain HTTP.
    public var authorityFile: String?
    /// Whether HTTP/2 is offered, and one connection used for all.
    public var isHTTP2: Bool
    /// The relay, for the peers that are given one: Sallyport learns its own from the gateway.
    public var relay: RelayFiles?
    /// The command, for a shell, that prints an activation link of the gateway.
    public var issuer: String

    public init(
        peer: Peer, url: String, sends: Int? = nil, total: Int, concurrency: Int, authorityFile: String?,
        isHTTP2: Bool = false, relay: RelayFiles?, issuer: String
    ) {
        self.peer = peer
        self.url = url
        self.sends = sends
        self.total = total
        self.concurrency = concurrency
        self.authorityFile = authorityFile
        self.isHTTP2 = isHTTP2
        self.relay = relay
        self.issuer = issuer
    }
}

/// What is needed to use the relay with an instance's identity.
public struct RelayFiles: Codable, Sendable {
    public var url: String
    public var authorityFile: String
    public var certificateFile: String
    public var keyFile: String

    public init(url: String, authorityFile: String, certificateFile: String, keyFile: String) {
        self.url = url
        self.authorityFile = authorityFile
        self.certificateFile = certificateFile
        self.keyFile = keyFile
    }
}

/// What a job cost.
public struct Cost: Codable, Sendable {
    public var cpuNanoseconds: Double
    public var wallNanoseconds: Double
    public var operations: Int
    public var bytes: Int
    /// How far resident memory rose over what it was after the warm-up.
    public var memoryGrowth: Int

    public var cpuPerOperation: Double { cpuNanoseconds / Double(operations) }
    /// In bytes a second.
    public var throughput: Double { Double(bytes) / (wallNanoseconds / 1e9) }
}

/// A worker of one peer: set up once, then asked to run.
public protocol PeerClient {
    /// Makes `total` requests, `concurrency` at once; returns the bytes of all bodies.
    func run(url: String, total: Int, concurrency: Int) async throws -> Int
    func shutdown() async throws
}

public struct PeerFailure: Error, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}
