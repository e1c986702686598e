// An app on the native URLSession that loads through the relay. Activate it once, as Examples/Quickstart says; then
//
//     swift run NativeURLSession STORE URL [CA-FILE]
import Foundation
import FoundationNetworking
import Sallyport
import SallyportFoundationBridge
import SallyportURLLoading

@main enum NativeURLSession {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 3, let url = URL(string: arguments[2]) else { exit(64) }
        let sallyport = try await Sallyport.open(store: arguments[1], protectedBy: .keyFile("\(arguments[1])/key"))
        try await sallyport.authorize()
        var secure = SessionConfiguration()
        if arguments.count > 3 { secure.trust = try .systemAnd(pemFile: arguments[3]) }

        // With this configuration the app is as it was before.
        let session = URLSession(configuration: sallyport.makeSession(secure).foundationConfiguration())
        let (data, response) = try await session.data(from: url)
        print("\((response as? HTTPURLResponse)?.statusCode ?? 0), \(data.count) bytes")
        await sallyport.shutdown()
    }
}
