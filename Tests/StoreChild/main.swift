// Does to a store what a test must not do in its own process: die, or be killed. Talks in lines.
import Glibc
import SallyportSecureStore
import StoreWorkload

let arguments = CommandLine.arguments
guard arguments.count >= 4 else {
    say("usage: StoreChild write|read|hold|look|limit|record|rotate|crowd|wipe DIRECTORY KEYFILE …")
    exit(64)
}
let place = Place(directory: arguments[2], keyFile: arguments[3], rest: Array(arguments.dropFirst(4)))
do {
    switch arguments[1] {
    case "write": try await write(at: place)
    case "read": try await readDamaged(at: place)
    case "hold": try await hold(at: place)
    case "look": try await look(at: place)
    case "limit": try await writeUntilFull(at: place)
    case "record": try await record(at: place)
    case "rotate": try await rotate(at: place)
    case "crowd": try await crowd(at: place)
    case "wipe": wipeWithoutFiles(at: place)
    default: exit(64)
    }
} catch {
    say("error \(error)")
    exit(1)
}
