package import HTTPTypes

/// Adds the proof of identity to a request's fields at the last moment, so that no proof is made for a request that the
/// cache answers.
///
/// Called by the last stage each time it sends a request.
package protocol RequestSigner: Sendable {
    /// - Parameter fields: the fields with which the request is sent.
    func sign(_ fields: inout HTTPFields) async
}
