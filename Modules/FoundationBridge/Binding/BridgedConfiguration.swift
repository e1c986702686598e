internal import Foundation
internal import FoundationNetworking

/// A native configuration that keeps its binding, also in the copy that a native session makes of it.
///
/// Its protocol classes always end with the binding's. Handlers that an app puts in front of it are asked first. Those
/// of FoundationNetworking, which would connect directly, are never asked.
final class BridgedConfiguration: URLSessionConfiguration, @unchecked Sendable {
    // SAFETY: as mutable as its superclass; `binding` is set once, before the object is shared.
    private var binding: Binding?

    // The only initializer that a subclass can call. It is deprecated because its object is useless on Darwin; here the
    // object has every value of `.default`.
    @available(*, deprecated)
    required override init() { super.init() }

    static func make(_ binding: Binding) -> BridgedConfiguration {
        let configuration = empty()
        configuration.binding = binding
        // Cookies, credentials and cached answers belong to the secure session.
        configuration.httpShouldSetCookies = false
        configuration.httpCookieStorage = nil
        configuration.urlCredentialStorage = nil
        configuration.urlCache = nil
        return configuration
    }

    private static func empty() -> BridgedConfiguration {
        func make<Configuration: Constructible>(_: Configuration.Type) -> Configuration { Configuration() }
        return make(BridgedConfiguration.self)
    }

    override var protocolClasses: [AnyClass]? {
        get {
            guard let binding else { return super.protocolClasses }
            let others = (super.protocolClasses ?? []).filter { $0 != binding.protocolClass && !Self.isNative($0) }
            return others + [binding.protocolClass]
        }
        set { super.protocolClasses = newValue }
    }

    private static let natives = (URLSessionConfiguration.default.protocolClasses ?? []).map { ObjectIdentifier($0) }

    private static func isNative(_ candidate: AnyClass) -> Bool { natives.contains(ObjectIdentifier(candidate)) }

    override func copy(with zone: NSZone?) -> Any {
        let copy = Self.empty()
        copy.binding = binding
        copyLoading(to: copy)
        copyStorage(to: copy)
        return copy
    }

    private func copyLoading(to copy: URLSessionConfiguration) {
        copy.identifier = identifier
        copy.requestCachePolicy = requestCachePolicy
        copy.timeoutIntervalForRequest = timeoutIntervalForRequest
        copy.timeoutIntervalForResource = timeoutIntervalForResource
        copy.networkServiceType = networkServiceType
        copy.allowsCellularAccess = allowsCellularAccess
        copy.isDiscretionary = isDiscretionary
        copy.connectionProxyDictionary = connectionProxyDictionary
        copy.httpAdditionalHeaders = httpAdditionalHeaders
        copy.httpMaximumConnectionsPerHost = httpMaximumConnectionsPerHost
        copy.protocolClasses = super.protocolClasses
    }

    private func copyStorage(to copy: URLSessionConfiguration) {
        copy.httpShouldSetCookies = httpShouldSetCookies
        copy.httpCookieAcceptPolicy = httpCookieAcceptPolicy
        copy.httpCookieStorage = httpCookieStorage
        copy.urlCredentialStorage = urlCredentialStorage
        copy.urlCache = urlCache
    }
}

/// Calls the initializer without naming it.
private protocol Constructible {
    init()
}

extension BridgedConfiguration: Constructible {}
