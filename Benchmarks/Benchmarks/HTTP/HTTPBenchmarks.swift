import Benchmark
import Foundation
import Peers
import Workloads

/// Regression benchmarks of the request path, with baselines and thresholds of the benchmark tool; run them with
/// `Benchmarks/run.sh --regression`, which starts the servers and says where they are. CPU time
/// of the process per operation, which the tool's own `.cpuTotal` is too coarse for.
let benchmarks: @Sendable () -> Void = {
    guard let path = ProcessInfo.processInfo.environment["SALLYPORT_BENCH_SETTING"] else { return }
    guard let setting = try? Setting.read(path), let rows = try? RowTable.read().rows else {
        fatalError("\(path) is no setting, or there is no table")
    }
    let cpu = BenchmarkMetric.custom("CPU ns per op", useScalingFactor: false)
    for row in rows {
        guard let load = row.load, let job = try? setting.job(load, peer: .sallyport) else { continue }
        Benchmark(row.title, configuration: .init(metrics: [cpu], maxDuration: .seconds(10), maxIterations: 5)) {
            benchmark in
            for _ in benchmark.scaledIterations {
                let measurement = try await job.measure()
                benchmark.measurement(cpu, Int(measurement.cpuPerOperation))
            }
        }
    }
}
