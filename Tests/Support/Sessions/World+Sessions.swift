internal import SallyportCore
package import SallyportURLLoading
package import TestSupport

extension World {
    /// The URL loading of an instance in this world.
    ///
    /// - Parameter stages: of other modules.
    package func loading(stages: @escaping SessionStages = { _ in [] }) -> URLLoadingSystem {
        URLLoadingSystem(gate: gate, stages: stages)
    }

    /// Trusts the servers of ``origin``.
    package func configuration(
        _ change: (inout SessionConfiguration) throws -> Void = { _ in }
    ) throws -> SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.trust = try .only([origin.der])
        try change(&configuration)
        return configuration
    }
}
