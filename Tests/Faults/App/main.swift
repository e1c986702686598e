// An app under constant load while parts of its fleet fail, for Tests/Faults/run:
//
//     FaultApp STORE AUTHORITY.pem ECHO-HOST:PORT URL…
//
// For each URL four tasks load it again and again; one socket sends a line every 100 ms and awaits its echo. SIGTERM ends
// it. It prints a line for each event, with the milliseconds of the monotonic clock at its end:
//
//     load MS TOOK URL-NUMBER ok|ERROR
//     socket MS opened|broken ERROR|silent
//     link MS NUMBER
import Glibc
import Sallyport

func milliseconds() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
}

func tell(_ words: String...) {
    let text = words.joined(separator: " ").replacing("\n", with: " ")
    let line = Array((text + "\n").utf8)
    _ = unsafe write(STDOUT_FILENO, line, line.count)
}

struct FaultApp {
    let sallyport: Sallyport
    let session: SecureSession

    func load(_ url: String, _ number: Int) async {
        while !Task.isCancelled {
            let start = milliseconds()
            var outcome = "ok"
            do {
                let answer = try await session.data(for: .get(url), upTo: .mebibytes(1))
                if answer.head.status.code != 200 { outcome = "status \(answer.head.status.code)" }
            } catch {
                outcome = "\(error)"
            }
            let end = milliseconds()
            tell("load", "\(end)", "\(end - start)", "\(number)", outcome)
            try? await Task.sleep(for: .milliseconds(40))
        }
    }

    /// One socket after the other: the next one is opened when one has broken.
    func talk(to server: String) async {
        while !Task.isCancelled {
            do {
                try await sallyport.sockets.withConnection(to: server, isSecure: false) { stream in
                    tell("socket", "\(milliseconds())", "opened")
                    var echoes = stream.bytes.makeAsyncIterator()
                    while !Task.isCancelled {
                        let start = milliseconds()
                        try await stream.write("ping\n")
                        guard try await echoes.next() != nil else {
                            return tell("socket", "\(milliseconds())", "broken ended")
                        }
                        if milliseconds() - start > 5000 { tell("socket", "\(milliseconds())", "silent") }
                        try await Task.sleep(for: .milliseconds(100))
                    }
                }
            } catch {
                tell("socket", "\(milliseconds())", "broken", "\(error)")
                try? await Task.sleep(for: .milliseconds(100))
            }
        }
    }

    func followLink() async {
        for await state in sallyport.reachability.changes() {
            tell("link", "\(milliseconds())", "\(state.status.number)")
        }
    }
}

let arguments = CommandLine.arguments
guard arguments.count >= 5 else {
    tell("usage: FaultApp STORE AUTHORITY.pem ECHO-HOST:PORT URL…")
    exit(64)
}
let sallyport = try await Sallyport.open(
    store: arguments[1], protectedBy: .keyFile("\(arguments[1])/key"), application: nil)
var configuration = SessionConfiguration()
configuration.trust = try .systemAnd(pemFile: arguments[2])
let app = FaultApp(sallyport: sallyport, session: sallyport.makeSession(configuration))
try await sallyport.authorize()
await withTaskGroup { group in
    group.addTask { try? await sallyport.run() }
    group.addTask { await app.followLink() }
    group.addTask { await app.talk(to: arguments[3]) }
    for (number, url) in arguments[4...].enumerated() {
        for _ in 0..<4 { group.addTask { await app.load(url, number) } }
    }
}
