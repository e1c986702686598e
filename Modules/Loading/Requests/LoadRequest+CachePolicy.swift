internal import HTTPTypes

extension LoadRequest {
    /// The request as it is sent under a policy: if the policy says so, with the directives that make caches on the way
    /// ask the server too. Fields that are set already stay. Only GET and HEAD get them, since caches answer no other
    /// request.
    package func sent(under policy: CachePolicy) -> LoadRequest {
        guard policy == .reloadIgnoringLocalAndRemoteCacheData, method == .get || method == .head else { return self }
        var request = self
        if request.headerFields[.cacheControl] == nil { request.headerFields[.cacheControl] = "no-cache" }
        if let pragma = HTTPField.Name("Pragma"), request.headerFields[pragma] == nil {
            request.headerFields[pragma] = "no-cache"
        }
        return request
    }
}
