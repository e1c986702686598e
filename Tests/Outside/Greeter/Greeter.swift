import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2

/// A gRPC server over TLS on loopback, until standard input ends: `outside.Greeter/Greet` says hello.
///
///     Greeter CERTIFICATE KEY
///
/// Prints `grpc PORT`. Messages are text.
@main
struct Greeter {
    static func main() async throws {
        let arguments = CommandLine.arguments
        let transport = HTTP2ServerTransport.Posix(
            address: .ipv4(host: "127.0.0.1", port: 0),
            transportSecurity: .tls(
                certificateChain: [.file(path: arguments[1], format: .pem)],
                privateKey: .file(path: arguments[2], format: .pem)))
        try await withGRPCServer(transport: transport, services: [Greetings()]) { server in
            let port = try await server.transport.listeningAddress.ipv4?.port ?? 0
            FileHandle.standardOutput.write(Data("grpc \(port)\n".utf8))
            await inputEnds()
        }
    }

    private static func inputEnds() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                while readLine() != nil {}
                continuation.resume()
            }
        }
    }
}

private struct Greetings: RegistrableRPCService {
    func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
        router.registerHandler(
            forMethod: MethodDescriptor(fullyQualifiedService: "outside.Greeter", method: "Greet"),
            deserializer: Text(), serializer: Text()
        ) { request, _ in
            let request = try await ServerRequest(stream: request)
            return StreamingServerResponse(single: ServerResponse(message: "hello, \(request.message)"))
        }
    }
}

private struct Text: MessageSerializer, MessageDeserializer {
    func serialize<Bytes: GRPCContiguousBytes>(_ message: String) throws -> Bytes { Bytes(message.utf8) }

    func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> String {
        bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
}
