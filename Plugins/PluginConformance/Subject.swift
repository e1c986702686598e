internal import SallyportLoading
internal import SallyportURLLoading

/// The handler under test: a type, or a function that creates one for each load.
struct Subject: Sendable {
    /// A handler for one load.
    struct Instance: Sendable {
        let load: @Sendable (LoadRequest, ResponseWriter) async throws -> Void
        /// The object that must be released once the load has ended.
        let object: (any AnyObject & Sendable)?
    }

    let canHandle: @Sendable (LoadRequest) -> Bool
    let canonicalForm: @Sendable (LoadRequest) -> LoadRequest
    let make: @Sendable () -> Instance

    init(_ type: any ProtocolHandler.Type) {
        canHandle = { type.canHandle($0) }
        canonicalForm = { type.canonicalForm(of: $0) }
        make = {
            let handler = type.init()
            let isObject = Swift.type(of: handler) is AnyClass
            return Instance(
                load: { try await handler.load($0, into: $1) },
                object: isObject ? handler as? any ProtocolHandler & AnyObject : nil)
        }
    }

    /// The app may keep its object, so no release is expected.
    init(_ make: @escaping @Sendable () -> any RequestHandler) {
        let first = make()
        canHandle = { first.canHandle($0) }
        canonicalForm = { first.canonicalForm(of: $0) }
        self.make = {
            let handler = make()
            return Instance(load: { try await handler.load($0, into: $1) }, object: nil)
        }
    }
}
