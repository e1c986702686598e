import Foundation
import FoundationNetworking
import SallyportBase

/// What FoundationNetworking would be told of a load.
final class LoaderClient: NSObject, URLProtocolClient {
    struct State {
        var heads = 0
        var bytes = 0
        var ends = 0
        var errors: [URLError] = []
    }

    private let state = Lock(State())

    var seen: State { state.withLock { $0 } }

    func urlProtocol(
        _ protocol: URLProtocol, didReceive response: URLResponse, cacheStoragePolicy policy: URLCache.StoragePolicy
    ) {
        state.withLock { $0.heads += 1 }
    }

    func urlProtocol(_ protocol: URLProtocol, didLoad data: Data) { state.withLock { $0.bytes += data.count } }

    func urlProtocolDidFinishLoading(_ protocol: URLProtocol) { state.withLock { $0.ends += 1 } }

    func urlProtocol(_ protocol: URLProtocol, didFailWithError error: any Error) {
        let error = error as? URLError ?? URLError(.unknown)
        state.withLock { $0.errors.append(error) }
    }

    func urlProtocol(
        _ protocol: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse
    ) {}
    func urlProtocol(_ protocol: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse) {}
    func urlProtocol(_ protocol: URLProtocol, didReceive challenge: URLAuthenticationChallenge) {}
    func urlProtocol(_ protocol: URLProtocol, didCancel challenge: URLAuthenticationChallenge) {}
}

/// Lets a task run without loading anything.
final class IdleProtocol: URLProtocol {
    override class func canInit(with request: URLRequest) -> Bool { true }
    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
    override func startLoading() {}
    override func stopLoading() {}

    /// A session whose tasks have states, and nothing else.
    static func session(delegate: (any URLSessionDelegate)? = nil) -> URLSession {
        let configuration = URLSessionConfiguration.default
        configuration.protocolClasses = [IdleProtocol.self]
        configuration.urlCache = nil
        return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }
}
