import Hummingbird
import NIOCore
import Sallyport

// recipe: hummingbird
func serve() async throws {
    let sallyport = try await Sallyport.open(store: "/var/lib/report", protectedBy: .systemdCredential("sallyport"))
    try await sallyport.authorize()

    let router = Router()
    router.get("today") { _, _ in
        let answer = try await sallyport.session.data(
            for: .get("https://reports.corp.example/today"), upTo: .mebibytes(4))
        return Response(
            status: answer.head.status, body: ResponseBody(byteBuffer: ByteBuffer(bytes: answer.body)))
    }
    let app = Application(
        router: router, configuration: .init(address: .hostname("0.0.0.0", port: 8080)),
        services: [sallyport])  // follows changes of the policy, and ends with the server
    try await app.runService()
}
// end
