// The app of the demo: stays open, tells what happens to it, and does what it is told, a line each.
//
//     Demo STORE CA-FILE ENTITLEMENT VERSION
//
// Reads `fetch URL` and `download URL FILE` from standard input; ends with it.
import Foundation
import HTTPTypes
import Sallyport
import SallyportAuthorization
import SallyportCore
import SallyportSecureStore
import SallyportURLLoading

func say(_ text: String) { FileHandle.standardOutput.write(Data("\(text)\n".utf8)) }

/// The result code, if there is one.
func failure(_ error: any Error) -> String {
    if let denied = (error as? LoadError)?.underlying as? AccessDenied {
        return "failed \(denied.code.rawValue) (\(denied.code.name)): \(error)"
    }
    return "failed: \(error)"
}

func carryOut(_ line: String, in session: SecureSession) async {
    let words = line.split(separator: " ").map(String.init)
    do {
        switch words.first {
        case "fetch" where words.count == 2:
            let answer = try await session.data(for: .get(words[1]), upTo: .mebibytes(1))
            say("fetched \(answer.head.status.code) \(answer.body.count)")
        case "download" where words.count == 3:
            var told = -1
            let show = { (progress: TransferProgress) in
                let quarter = Int((progress.fraction ?? 0) * 4)
                if quarter > told { say("progress \(quarter * 25)%") }
                told = max(told, quarter)
            }
            let response = try await session.download(for: .get(words[1]), to: words[2], progress: show)
            say("downloaded \(response.status.code)")
        default: say("failed: not understood")
        }
    } catch {
        say(failure(error))
    }
}

/// Tells what happens to the authorization until the task is cancelled.
func tellEvents(of authorization: Authorization) async {
    for await event in authorization.events {
        switch event.kind {
        case .policyUpdate: say("policy \(authorization.configuration.policy ?? "")")
        case .notAuthorized: say("withdrawn \(event.code.rawValue) (\(event.code.name))")
        default: say("event \(event.kind)")
        }
    }
}

/// Lines of standard input, read off the threads that tasks run on.
func lines() -> AsyncStream<String> {
    let (stream, continuation) = AsyncStream.makeStream(of: String.self)
    Thread.detachNewThread {
        while let line = readLine() { continuation.yield(line) }
        continuation.finish()
    }
    return stream
}

let arguments = CommandLine.arguments
guard arguments.count == 5 else {
    say("usage: Demo STORE CA-FILE ENTITLEMENT VERSION")
    exit(64)
}
let sallyport = try await Sallyport.open(
    store: arguments[1], protectedBy: .keyFile("\(arguments[1])/key"),
    application: .init(arguments[3], version: arguments[4]))
try await sallyport.authorize()
var configuration = SessionConfiguration()
configuration.trust = try .systemAnd(pemFile: arguments[2])
let session = sallyport.makeSession(configuration)
await withTaskGroup(of: Void.self) { group in
    group.addTask { try? await sallyport.run() }
    group.addTask { await tellEvents(of: sallyport.authorization) }
    say("authorized \(sallyport.authorization.configuration.policy ?? "")")
    for await line in lines() { await carryOut(line, in: session) }
    group.cancelAll()
}
