import ArgumentParser
import SallyportGateway

/// Where metrics and health are told.
struct MetricsOptions: ParsableArguments, CheckedArguments {
    @Option(
        help: ArgumentHelp("Tell metrics and health here, without TLS.", valueName: "host:port"),
        transform: expecting("HOST:PORT"))
    var metrics: BindArgument?
    @Flag(help: "Let --metrics listen on addresses that other machines can reach.") var metricsInsecure = false

    func check() throws {
        guard !metricsInsecure || metrics != nil else {
            throw ValidationError("--metrics-insecure goes with --metrics.")
        }
    }

    /// Nil if they are told nowhere.
    var settings: Gateway.MetricsListener? {
        metrics.map { .init(host: $0.host, port: Int($0.port), isInsecureAllowed: metricsInsecure) }
    }
}
