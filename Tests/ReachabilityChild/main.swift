// Runs an activated app and prints a line for each change of its link: milliseconds of the monotonic clock, the link's
// number, whether there is a network, whether the push channel is available. SIGTERM ends it.
import Glibc
import Sallyport

let directory = CommandLine.arguments[1]
let sallyport = try await Sallyport.open(
    store: directory, protectedBy: .keyFile("\(directory)/key"), application: nil)

func milliseconds() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
}

await withTaskGroup(of: Void.self) { group in
    group.addTask { try? await sallyport.run() }
    group.addTask { _ = try? await sallyport.authorize() }
    for await state in sallyport.reachability.changes() {
        let flags = "\(state.isNetworkAvailable ? 1 : 0) \(state.isPushChannelAvailable ? 1 : 0)"
        let line = Array("\(milliseconds()) \(state.status.number) \(flags)\n".utf8)
        _ = write(STDOUT_FILENO, line, line.count)
    }
}
