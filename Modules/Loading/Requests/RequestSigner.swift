package import HTTPTypes

/// Says in a request's fields who makes it, at the last moment: a proof that holds for one request is not made for one
/// that the cache answers.
///
/// The last stage calls it for each time that it sends a request.
package protocol RequestSigner: Sendable {
    /// - Parameter fields: those that the request is sent with.
    func sign(_ fields: inout HTTPFields) async
}
