internal import Foundation
internal import FoundationNetworking
internal import HTTPTypes
internal import SallyportCore
internal import SallyportLoading

/// Converts a native request to a ``LoadRequest``.
struct NativeRequest {
    private let request: URLRequest
    private let configuration: URLSessionConfiguration

    init(_ request: URLRequest, _ configuration: URLSessionConfiguration) {
        self.request = request
        self.configuration = configuration
    }

    /// - Throws: `invalidRequest` if HTTP cannot carry the URL, the method or a field, and for a main document without
    ///   a valid URL.
    func loadRequest(sending task: NativeTask) throws(LoadError) -> LoadRequest {
        let method = try method()
        var fields = try fields()
        let body = BodyConversion(task, declaredLength: request.value(forHTTPHeaderField: "Content-Length")).body()
        if body != nil, method == .post, fields[.contentType] == nil {
            fields[.contentType] = "application/x-www-form-urlencoded"
        }
        return LoadRequest(method, try url(), headerFields: fields, body: body, options: try options())
    }

    private func url() throws(LoadError) -> RequestURL {
        guard let url = request.url else { throw LoadError(.invalidRequest, "The request has no URL.") }
        return try Self.requestURL(url, else: "The URL cannot be requested.")
    }

    private static func requestURL(_ url: URL, else message: String) throws(LoadError) -> RequestURL {
        do throws(AddressError) {
            return try RequestURL(url.absoluteString)
        } catch {
            throw LoadError(.invalidRequest, message, underlying: error)
        }
    }

    private func method() throws(LoadError) -> HTTPRequest.Method {
        guard let method = HTTPRequest.Method(rawValue: request.httpMethod ?? "GET") else {
            throw LoadError(.invalidRequest, "The method is not valid in HTTP.")
        }
        return method
    }

    private func options() throws(LoadError) -> LoadOptions {
        var options = LoadOptions()
        // Default values are not a choice of the app: the secure session's values apply then.
        let idle = request.timeoutInterval == 60 ? configuration.timeoutIntervalForRequest : request.timeoutInterval
        if idle != 60 { options.idleTimeout = Self.duration(idle) }
        let resource = configuration.timeoutIntervalForResource
        if resource != 604_800 { options.resourceTimeout = Self.duration(resource) }
        if !request.httpShouldHandleCookies { options.handlesCookies = false }
        options.cachePolicy = cachePolicy
        if let document = request.mainDocumentURL, document != request.url {
            // Without it the request would count as its own document's, and get the cookies of its own site.
            options.mainDocument = try Self.requestURL(document, else: "The main document's URL is not valid here.")
        }
        return options
    }

    /// Nil for the default policy: the secure session's policy applies then.
    private var cachePolicy: CachePolicy? {
        switch request.cachePolicy {
        case .reloadIgnoringLocalCacheData: .reloadIgnoringLocalCacheData
        case .reloadIgnoringLocalAndRemoteCacheData: .reloadIgnoringLocalAndRemoteCacheData
        case .returnCacheDataElseLoad: .returnCacheDataElseLoad
        case .returnCacheDataDontLoad: .returnCacheDataDontLoad
        case .reloadRevalidatingCacheData: .reloadRevalidatingCacheData
        default: nil
        }
    }

    /// Nil for an interval that is not a valid time-out; at most ten years.
    static func duration(_ interval: TimeInterval) -> Duration? {
        guard interval > 0 else { return nil }
        return .seconds(min(interval, 315_360_000))
    }
}

// MARK: Fields

extension NativeRequest {
    /// The request's own fields, and the configuration's fields whose names the request does not have.
    private func fields() throws(LoadError) -> HTTPFields {
        var fields: HTTPFields = [:]
        for (name, value) in configuration.httpAdditionalHeaders ?? [:] {
            try Self.set("\(name.base)", "\(value)", in: &fields)
        }
        for (name, value) in request.allHTTPHeaderFields ?? [:] { try Self.set(name, value, in: &fields) }
        // A native session decodes every coding that the app requests; a secure session delivers the coded bytes of a
        // request that names codings.
        if let codings = fields[.acceptEncoding], Self.isDecoded(codings) { fields[.acceptEncoding] = nil }
        return fields
    }

    private static func isDecoded(_ codings: String) -> Bool {
        codings.split(separator: ",").contains { coding in
            let name = coding.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
            return name == "gzip" || name == "deflate" || name == "*"
        }
    }

    private static func set(_ name: String, _ value: String, in fields: inout HTTPFields) throws(LoadError) {
        guard let name = HTTPField.Name(name), HTTPField.isValidValue(value) else {
            throw LoadError(.invalidRequest, "A header field is not valid in HTTP.")
        }
        fields[name] = value
    }
}
