package import HTTPTypes
internal import SallyportCore

/// The 407 that a proxy answered CONNECT with: what stands under ``LoadError/Code/proxyAuthenticationRequired``.
package struct ProxyChallenge: Error, CustomStringConvertible {
    /// Its status and its `Proxy-Authenticate` fields.
    package let head: HTTPResponse

    package init(head: HTTPResponse) { self.head = head }

    package var description: String { "CONNECT was answered with \(head.status.code)." }
}
