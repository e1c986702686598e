package import HTTPTypes
internal import SallyportCore

/// A proxy's 407 response to CONNECT: the underlying error of ``LoadError/Code/proxyAuthenticationRequired``.
package struct ProxyChallenge: Error, CustomStringConvertible {
    /// Its status and its `Proxy-Authenticate` fields.
    package let head: HTTPResponse

    package init(head: HTTPResponse) { self.head = head }

    package var description: String { "CONNECT was answered with \(head.status.code)." }
}
