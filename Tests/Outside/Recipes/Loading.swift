import FoundationEssentials
import Sallyport

struct UnexpectedStatus: Error {
    var status: HTTPResponse.Status
}

// recipe: get-json
struct Report: Codable, Sendable {
    var title: String
    var pages: Int
}

func report(of day: String, in session: SecureSession) async throws -> Report {
    var request = try LoadRequest.get("https://reports.corp.example/\(day)")
    request.headerFields[.accept] = "application/json"
    let answer = try await session.data(for: request, upTo: .mebibytes(4))
    guard answer.head.status == .ok else { throw UnexpectedStatus(status: answer.head.status) }
    return try JSONDecoder().decode(Report.self, from: Data(answer.body))
}
// end

// recipe: post
func submit(_ report: Report, in session: SecureSession) async throws {
    let body = Array(try JSONEncoder().encode(report))
    let request = try LoadRequest(
        .post, RequestURL("https://reports.corp.example/"), headerFields: [.contentType: "application/json"],
        body: .bytes(body))
    let answer = try await session.data(for: request)
    guard answer.head.status.kind == .successful else { throw UnexpectedStatus(status: answer.head.status) }
}
// end

// recipe: upload
func upload(_ path: String, in session: SecureSession) async throws {
    let request = try LoadRequest(.put, RequestURL("https://files.corp.example/archive.tar"))
    let task = session.uploadTask(for: request, from: .file(path))
    task.resume()
    for await progress in task.sent { print(progress.fraction ?? 0) }
    print(try await task.value.head.status)
}
// end

// recipe: download
func downloadArchive(in session: SecureSession) async throws {
    let head = try await session.resumeDownload(
        for: .get("https://files.corp.example/archive.tar"), to: "/srv/archive.tar",
        progress: { print($0.fraction ?? 0) })
    guard head.status.kind == .successful else { throw UnexpectedStatus(status: head.status) }
}
// end

// recipe: stream
func countLines(in session: SecureSession) async throws -> Int {
    let answer = try await session.bytes(for: .get("https://feeds.corp.example/prices"))
    var lines = 0
    for try await chunk in answer.body {  // reading slowly slows the server down
        lines += chunk.count(where: { $0 == UInt8(ascii: "\n") })
    }
    return lines
}
// end

// recipe: stream-upload
func uploadNumbers(in session: SecureSession) async throws {
    let request = try LoadRequest(.put, RequestURL("https://files.corp.example/numbers"))
    let answer = try await session.upload(
        for: request,
        from: .restartable { writer in
            for number in 1...1_000_000 { try await writer.write(Array("\(number)\n".utf8)) }
        })
    print(answer.head.status)
}
// end

// recipe: limits
func loadInTime(in session: SecureSession) async throws -> [UInt8]? {
    var request = try LoadRequest.get("https://reports.corp.example/slow")
    request.options.idleTimeout = .seconds(5)  // without a byte in either direction
    request.options.resourceTimeout = .seconds(30)  // the whole load
    do {
        return try await session.data(for: request).body
    } catch {
        guard error.code == .idleTimeout || error.code == .resourceTimeout else { throw error }
        return nil
    }
}

func loadUntilCancelled(in session: SecureSession) async throws {
    let load = Task { try await session.data(for: .get("https://reports.corp.example/today")) }
    load.cancel()
    do {
        print(try await load.value.body.count)
    } catch let error as LoadError where error.code == .cancelled {
        print("the connection is closed")
    }
}
// end

// recipe: failures
func explainFailure(_ session: SecureSession) async {
    do {
        let answer = try await session.data(for: .get("https://reports.corp.example/today"))
        print(answer.head.status)  // any status is an answer, not an error
    } catch {
        switch error.code {
        case .notAuthorized, .withdrawn: print("call authorize(), or stop: \(error)")
        case .refusedByPolicy: print("ask the administrator to list the server")
        case .serverNotTrusted: print("its certificate: \(error.underlying, default: "none")")
        case _ where error.code.isTransient: print("try again later: \(error)")
        default: print("\(error.code) at \(error.step?.description ?? "no step")")
        }
    }
}
// end
