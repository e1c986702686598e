package import HTTPTypes

/// A stage that needs the fields of every answer that a server sends, also of those that do not come up to it: a stage
/// below may drop an answer and send another request, or send one after it has answered itself.
package protocol SentFieldsStage: LoadStage {
    /// A server has sent these fields in an answer that does not come up to this stage.
    ///
    /// - Parameters:
    ///   - fields: as ``LoadAnswer/fieldsSentNow`` of that answer.
    ///   - request: as it reached the stage below that has sent it.
    ///   - context: that of the request.
    /// - Returns: the request as it is to be sent if it is sent again: with what the fields change in this stage's own
    ///   additions, such as cookies that were set.
    func heard(_ fields: HTTPFields, answering request: LoadRequest, in context: LoadContext) async -> LoadRequest
}
