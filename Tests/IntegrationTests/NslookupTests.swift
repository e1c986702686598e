import Glibc
import Sallyport
import SallyportCore
import SallyportWire
import TestSupport
import Testing

/// `nslookup` with a real gateway: its answer, and each error number that can be provoked.
///
/// 104 is an internal error, which cannot be provoked; `NamesTests` has its number.
@Suite(.timeLimit(.minutes(3))) struct NslookupTests {
    private struct Told: Sendable {
        var response: NameAnswer?
        var error: NameError?
    }

    private func nslookup(
        _ app: Sallyport, _ host: String, _ type: NameAnswer.RecordType = .a, within limit: Duration = .seconds(10)
    ) async -> Told {
        await withCheckedContinuation { continuation in
            app.names.nslookup(host, type: type, within: limit) { response, error in
                continuation.resume(returning: Told(response: response, error: error))
            }
        }
    }

    /// Names that end in `circle` stand for themselves, `broken` is answered with a failure, nothing else exists.
    private static func resolver() throws -> TestDatagramServer {
        try TestDatagramServer { bytes in
            guard let query = try? DNSMessage(parsing: bytes) else { return nil }
            let name = query.question.name
            if "\(name)".hasPrefix("circle") {
                let circle = DNSMessage.Record(name, timeToLive: 1, .canonicalName(name))
                return try? DNSMessage(answering: query, answers: [circle]).serialized()
            }
            let code: DNSMessage.ResponseCode = "\(name)".hasPrefix("broken") ? .serverFailure : .nameError
            return try? DNSMessage(answering: query, code: code).serialized()
        }
    }

    @Test func anAnswerOrANumberedErrorIsReported() async throws {
        let resolver = try Self.resolver()
        let prepare = { (site: Site) async throws -> Void in
            try await site.stopGateway()
            try await site.startGateway("--dns", "127.0.0.1:\(resolver.port)")
            for name in ["circle", "broken", "missing"] {
                try await site.admin("server", "add", "\(name).corp.example:443")
            }
        }
        try await RunningApp.run(preparing: prepare) { (app: RunningApp) async throws -> Void in
            let sallyport = app.sallyport
            let found = await nslookup(sallyport, Intranet.name)
            #expect(found.error == nil && found.response?.addresses.map(\.description) == [Intranet.address])
            let missing = await nslookup(sallyport, "missing.corp.example", .cname)
            #expect(missing.error == nil && missing.response?.exists == false)

            #expect(await nslookup(sallyport, "payroll.corp.example").error?.documentedNumber == 101)
            #expect(await nslookup(sallyport, "circle.corp.example").error?.documentedNumber == 103)
            for (host, limit) in [("127.0.0.1", 10), ("", 10), (Intranet.name, 0), (Intranet.name, 61)] {
                let error = await nslookup(sallyport, host, within: .seconds(limit)).error
                #expect(error?.documentedNumber == 105, "\(host)")
            }
            #expect(await nslookup(sallyport, "broken.corp.example").error?.documentedNumber == 500)

            try await app.site.gateway.pause()
            let late = await nslookup(sallyport, Intranet.name, within: .seconds(1))
            #expect(late.error?.documentedNumber == 100 && late.response == nil)
            app.site.gateway.signal(SIGCONT)
            try await app.site.stopGateway(by: SIGKILL)
            #expect(await nslookup(sallyport, Intranet.name).error?.documentedNumber == 102)
        }
    }

    @Test func withoutAuthorizationThereIsNone() async throws {
        let folder = try TemporaryDirectory()
        let app = try await Sallyport.open(
            store: folder.file("app"), protectedBy: .keyFile(folder.file("key")),
            application: .init(Site.app, version: Site.version))
        #expect(await nslookup(app, Intranet.name).error?.documentedNumber == 500)
        await app.shutdown()
        // A later call gets the error too.
        let late = await nslookup(app, Intranet.name)
        #expect(late.response == nil && late.error != nil)
    }
}
