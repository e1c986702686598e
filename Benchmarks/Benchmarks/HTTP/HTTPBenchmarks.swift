import Benchmark
import Foundation
import Workloads

/// Regression benchmarks of the request path, with baselines and thresholds of the benchmark tool; run them with
/// `Benchmarks/run.sh --regression`, which starts the server and names the jobs' file in `SALLYPORT_BENCH_JOBS`. CPU time
/// of the process per operation, which the tool's own `.cpuTotal` is too coarse for.
let benchmarks: @Sendable () -> Void = {
    guard let path = ProcessInfo.processInfo.environment["SALLYPORT_BENCH_JOBS"] else { return }
    guard let file = try? Data(contentsOf: URL(fileURLWithPath: path)),
        let jobs = try? JSONDecoder().decode([String: Job].self, from: file)
    else { fatalError("\(path) has no jobs") }
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
