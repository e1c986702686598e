import ArgumentParser
import SallyportLoading

/// The argument `origin`, `site`, or a list of hosts separated by commas.
struct FieldScopeArgument: ExpressibleByArgument, Sendable, Hashable {
    let scope: FieldScope

    init?(argument: String) {
        switch argument {
        case "origin": scope = .origin
        case "site": scope = .site
        default:
            let names = argument.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            guard let hosts = try? FieldScope.hosts(names) else { return nil }
            scope = hosts
        }
    }
}
