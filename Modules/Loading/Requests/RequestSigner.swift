package import HTTPTypes

/// Adds the proof of identity to a request's fields at the last moment, so that no proof is made for a request that the
/// cache answers.
///
/// The last stage calls it for each time that it sends a request.
package protocol RequestSigner: Sendable {
    /// - Parameter fields: those that the request is sent with.
    func sign(_ fields: inout HTTPFields) async
}
