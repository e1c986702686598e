internal import HTTPTypes
internal import SallyportCore
public import SallyportLoading

extension AuthenticationStage {
    /// The credential that would be sent without a challenge, and the schemes by which a challenge could be answered.
    public func explain(
        _ request: inout LoadRequest, in context: LoadContext, into explanation: inout LoadExplanation
    ) async {
        explanation.schemes = schemes.keys.filter { scheme(of: $0) != nil }.map { "\($0)" }.sorted()
        guard request.headerFields[.authorization] == nil else {
            return explanation.decided(.authentication, "the request's own", because: "it has an Authorization field")
        }
        guard let known = await credentials.known(for: request.url, of: context.principal),
            known.isOf(request.options.credential)
        else { return }
        let space = known.space
        explanation.decided(.authentication, "\(space.method)", because: "\(space.kind) \(space.origin)")
    }
}
