import HTTPTypes
import Logging
import SallyportBase
import SallyportCore
import SallyportLoading
import Testing

@Suite struct LoadRequestTests {
    @Test func itsTextHoldsNoSecret() throws {
        let url = try RequestURL("https://a.example/x?planted#planted")
        let request = LoadRequest(
            .post, url, headerFields: [.authorization: "planted", .cookie: "planted"], body: .text("planted"))
        #expect("\(request)" == "POST https://a.example/x")
        var dumped = ""
        dump(request, to: &dumped)
        for text in [String(reflecting: request), "\([request])", dumped] { #expect(!text.contains("planted")) }
    }

    @Test func requestsConvertBothWays() throws {
        let http = HTTPRequest(
            method: .put, scheme: "https", authority: "a.example:8443", path: "/x?y", headerFields: [.accept: "a/b"])
        let request = try LoadRequest(http)
        #expect(request.url.absoluteText == "https://a.example:8443/x?y")
        #expect(request.httpRequest == http)
    }

    @Test(arguments: [
        (".evil.example/", "a.example"), ("@evil.example/", "a.example"), (":80/", "a.example"), ("x", "a.example"),
        ("/", "a.example/x"), ("/", "a.example?"), ("/", "a.example#"), ("/", "u@a.example"), ("/", "a.example\\"),
    ])
    func oneComponentDoesNotReachIntoTheNext(_ path: String, _ authority: String) {
        let http = HTTPRequest(method: .get, scheme: "https", authority: authority, path: path)
        #expect(throws: LoadError(.invalidRequest, "")) { try LoadRequest(http) }
    }

    @Test func schemeAndAuthorityAreNeeded() {
        #expect(throws: LoadError(.invalidRequest, "")) {
            try LoadRequest(HTTPRequest(method: .get, scheme: nil, authority: "a.example", path: "/"))
        }
        let error = #expect(throws: LoadError(.invalidRequest, "")) {
            try LoadRequest(HTTPRequest(method: .get, scheme: "https", authority: nil, path: "/"))
        }
        #expect((error?.underlying as? AddressError)?.code == .noHost)
    }

    @Test func textThatIsNoURLThrowsTheErrorOfLoads() {
        let error = #expect(throws: LoadError(.invalidRequest, "")) { try LoadRequest.get("no url") }
        #expect(error?.underlying is AddressError)
    }

    @Test func bodiesKnowWhetherTheyCanBeHadAgain() {
        #expect(RequestBody.bytes([1]).isReplayable && RequestBody.file("/x").isReplayable)
        #expect(RequestBody.restartable { _ in }.isReplayable)
        #expect(!RequestBody.once { _ in }.isReplayable)
        #expect(RequestBody.text("ü").length == 2)
    }

    @Test func errorsSayNoQuery() throws {
        let error = LoadError(.cannotConnect, at: .connect, "No address accepted.")
        #expect(error.description == "cannotConnect at connect: No address accepted.")
        #expect(error.shortDescription == "cannotConnect@connect")
        #expect(error == LoadError(.cannotConnect, "other"))
        #expect(error.debugDescription.contains("LoadRequestTests.swift"))
    }

    @Test func theGatesRefusalsHaveTheirCodes() throws {
        let decision = RoutingTable().decide(try Endpoint("a.example:1"))
        #expect(LoadError(AccessDenied(.notAuthorized)).code == .notAuthorized)
        #expect(LoadError(AccessDenied(.withdrawn, code: .wiped)).code == .withdrawn)
        #expect(LoadError(AccessDenied(.withdrawn, code: .wiped)).description.contains("-302"))
        #expect(LoadError(AccessDenied(.denied(decision))).code == .refusedByPolicy)
    }

    @Test func aChainWithoutALastStageFails() async throws {
        let context = LoadContext(
            requestID: 1, logger: .init(label: "test"), deadline: .now, idleTimeout: .seconds(1), principal: .instance)
        await #expect(throws: LoadError(.internalFailure, "")) {
            try await LoadChain([]).load(LoadRequest(.get, RequestURL("http://a.example/")), in: context)
        }
    }
}
