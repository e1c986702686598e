// The app of the demo: stays open, tells what happens to it, and does what it is told, a line each.
//
//     Demo STORE CA-FILE ENTITLEMENT VERSION
//
// Reads `fetch URL` and `download URL FILE` from standard input; ends with it.
import Glibc
import HTTPTypes
import Sallyport
import SallyportAuthorization
import SallyportCore
import SallyportURLLoading

func say(_ text: String) {
    print(text)
    fflush(nil)
}

/// The documented code where there is one.
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
            let (body, response) = try await session.data(for: .get(words[1]), upTo: .megabytes(1))
            say("fetched \(response.status.code) \(body.count)")
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
