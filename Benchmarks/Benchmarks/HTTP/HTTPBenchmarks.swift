import Benchmark
import Foundation
import Workloads

/// Regression benchmarks of the request path against the server that `SALLYPORT_BENCH_SETTING` names (`make bench`
/// writes it): CPU time of the process per operation, which the tool's own `.cpuTotal` is too coarse for.
let benchmarks: @Sendable () -> Void = {
    guard let setting = ProcessInfo.processInfo.environment["SALLYPORT_BENCH_JOBS"],
        let jobs = try? JSONDecoder().decode([String: Job].self, from: Data(setting.utf8))
    else { return }
    let cpu = BenchmarkMetric.custom("CPU ns per op", useScalingFactor: false)
    for (name, job) in jobs.sorted(by: { $0.key < $1.key }) {
        Benchmark(name, configuration: .init(metrics: [cpu], maxDuration: .seconds(10), maxIterations: 5)) {
            benchmark in
            for _ in benchmark.scaledIterations {
                let measurement = try await job.measure()
                benchmark.measurement(cpu, Int(measurement.cpuPerOperation))
            }
        }
    }
}
