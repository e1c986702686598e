import Workloads

extension Job {
    /// Warms the peer up, then measures it.
    public func measure() async throws -> Cost {
        let client: any PeerClient =
            switch peer {
            case .sallyport: try await SallyportClient(job: self, isOnLoop: false)
            case .sallyportOnLoop: try await SallyportClient(job: self, isOnLoop: true)
            case .asyncHTTPClient: try AsyncHTTPClientClient(job: self)
            case .urlSession: URLSessionClient()
            case .curl: try CurlClient(job: self)
            }
        return try await measure(client)
    }
}
