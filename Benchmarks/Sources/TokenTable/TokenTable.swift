import Crypto
import Foundation
import Glibc
import SallyportAuthTokenVerification

/// Prints what the off-line verification of an auth token costs beside one bare verification of P-256, by CPU time of the
/// process.
@main
struct TokenTable {
    private static let rounds = 9
    private static let calls = 4_000

    static func main() async throws {
        let tokens = try Tokens()
        let verifier = AuthTokenVerifier(
            keys: PublishedKeys(from: FixedKeys(tokens.document)), issuer: Tokens.issuer, leeway: 60)
        let expected = AuthTokenExpectation(user: Tokens.user, server: Tokens.server)
        var (ours, bare): ([Double], [Double]) = ([], [])
        for _ in 0..<rounds {
            bare.append(
                try perCall { number in
                    let (input, signature) = tokens.signed[number % tokens.signed.count]
                    guard tokens.key.publicKey.isValidSignature(signature, for: input) else { throw Failed() }
                })
            let start = cpu()
            for number in 0..<calls {
                _ = try await verifier.verify(tokens.texts[number % tokens.texts.count], for: expected)
            }
            ours.append((cpu() - start) / Double(calls))
        }
        let (one, other) = (ours.sorted()[rounds / 2], bare.sorted()[rounds / 2])
        let share = one / other - 1
        print("token verification off-line: \(text(one)) of CPU; one bare verification of P-256: \(text(other))")
        print("  over it: \((share * 1000).rounded() / 10) %; at most 20 %: \(share <= 0.2 ? "reached" : "missed")")
    }

    private struct Failed: Error {}

    private static func perCall(_ body: (Int) throws -> Void) throws -> Double {
        let start = cpu()
        for number in 0..<calls { try body(number) }
        return (cpu() - start) / Double(calls)
    }

    private static func cpu() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func text(_ seconds: Double) -> String { "\((seconds * 1e8).rounded() / 100) µs" }
}

/// Tokens as the gateway signs them, by a key of the benchmark's own.
struct Tokens {
    static let issuer = "https://gateway.corp.example:17433"
    static let user = "ann@corp.example"
    static let server = "reports.corp.example"

    let key = P256.Signing.PrivateKey()
    let document: [UInt8]
    let texts: [String]
    /// Of each token what is signed, and the signature.
    let signed: [(input: Data, signature: P256.Signing.ECDSASignature)]

    init() throws {
        let point = key.publicKey.rawRepresentation
        let (x, y) = (Self.base64(point.prefix(32)), Self.base64(point.suffix(32)))
        document = Array(
            #"{"keys":[{"alg":"ES256","crv":"P-256","kid":"k1","kty":"EC","use":"sig","x":"\#(x)","y":"\#(y)"}]}"#.utf8)
        let now = Int(Date().timeIntervalSince1970)
        let header = Self.base64(Data(#"{"alg":"ES256","kid":"k1","typ":"sallyport-token+jwt"}"#.utf8))
        var (texts, signed): ([String], [(input: Data, signature: P256.Signing.ECDSASignature)]) = ([], [])
        for _ in 0..<64 {
            let claims = """
                {"aud":"\(Self.server)","client_id":"com.example.report","exp":\(now + 300),"iat":\(now),\
                "iss":"\(Self.issuer)","jti":"\(UUID().uuidString)","nonce":"4fX0m8Qq2kZpJ1n6Yt3aBvRwL7cHsD9eUgTiOoMxNyE",\
                "sid":"\(UUID().uuidString.lowercased())","sub":"\(Self.user)"}
                """
            let input = Data("\(header).\(Self.base64(Data(claims.utf8)))".utf8)
            let signature = try key.signature(for: input)
            texts.append(String(decoding: input, as: UTF8.self) + "." + Self.base64(signature.rawRepresentation))
            signed.append((input, signature))
        }
        (self.texts, self.signed) = (texts, signed)
    }

    private static func base64(_ data: Data) -> String {
        data.base64EncodedString().replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }
}
