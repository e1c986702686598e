import Crypto
import SallyportAuthTokenVerification
import SallyportCore
import SallyportWire
import Testing

/// Proofs of the token's key (RFC 9449).
@Suite(.timeLimit(.minutes(1))) struct ProofTests {
    @Test(arguments: [false, true]) func aDemandedProofIsAccepted(isOnline: Bool) async throws {
        let issuer = Issuer()
        let verifier = isOnline ? issuer.onlineVerifier(requireProof: true) : issuer.verifier(requireProof: true)
        let text = try issuer.token(isBound: true)
        let token = try await verifier.verify(text, for: .ann(), proof: issuer.proof(of: text))
        #expect(token.isProven)
    }

    @Test func aBearerTokenIsNotEnoughWhereAProofIsDemanded() async throws {
        let issuer = Issuer()
        let verifier = issuer.verifier(requireProof: true)
        let (bearer, bound) = (try issuer.token(), try issuer.token(isBound: true))
        for (text, proof) in [
            (bearer, nil), (bearer, try issuer.proof(of: bearer)), (bound, nil),
            (bound, PresentedProof(nil, method: "GET", url: Issuer.url)),
            (bound, PresentedProof("", method: "GET", url: Issuer.url)),
        ] {
            await #expect(throws: AuthTokenVerificationError.of(.noProof)) {
                try await verifier.verify(text, for: .ann(), proof: proof)
            }
        }
        #expect(AuthTokenVerificationError.Code.noProof.number == nil)
    }

    @Test func aBoundTokenIsABearerTokenWhereNoneIsDemanded() async throws {
        let issuer = Issuer()
        let text = try issuer.token(isBound: true)
        let alone = try await issuer.verifier().verify(text, for: .ann())
        #expect(!alone.isProven)
        // But what is sent must hold.
        let proof = try issuer.proof(of: text)
        let token = try await issuer.verifier().verify(text, for: .ann(), proof: proof)
        #expect(token.isProven)
        let other = PresentedProof(proof.text, method: "POST", url: proof.url)
        await #expect(throws: AuthTokenVerificationError.of(.noProof)) {
            try await issuer.verifier().verify(text, for: .ann(), proof: other)
        }
    }

    @Test func aProofIsForOneTokenKeyMethodAndURL() async throws {
        let issuer = Issuer()
        let verifier = issuer.verifier(requireProof: true)
        let text = try issuer.token(isBound: true)
        let good = try issuer.proof(of: text)
        let twice = PresentedProof("\(good.text ?? ""), \(good.text ?? "")", method: "GET", url: Issuer.url)
        for proof in [
            try issuer.proof(of: issuer.token(isBound: true)), try issuer.proof(of: text, by: .init()),
            try issuer.proof(of: text, method: "POST"), try issuer.proof(of: text, method: "get"),
            try issuer.proof(of: text, url: "https://app.example/other"),
            try issuer.proof(of: text, url: "https://other.example/reports"),
            try issuer.proof(of: text, url: "http://app.example/reports"), twice,
            PresentedProof(text, method: "GET", url: Issuer.url),
            PresentedProof(good.text, method: "GET", url: "no URL"),
        ] {
            await #expect(throws: AuthTokenVerificationError.of(.noProof)) {
                try await verifier.verify(text, for: .ann(), proof: proof)
            }
        }
        // Query and fragment do not count, nor how the host is spelled.
        var same = good
        same.url = "HTTPS://APP.example:443/reports?day=1"
        _ = try await verifier.verify(text, for: .ann(), proof: same)
    }

    @Test(arguments: [(89, true), (90, false), (-30, true), (-31, false)] as [(Int64, Bool)])
    func aProofIsOfThisMinute(_ age: Int64, _ isAccepted: Bool) async throws {
        let issuer = Issuer()
        let text = try issuer.token(isBound: true)
        let proof = try issuer.proof(of: text, age: age)
        let token = try? await issuer.verifier(requireProof: true).verify(text, for: .ann(), proof: proof)
        #expect((token != nil) == isAccepted)
    }

    @Test func aProofCountsOnce() async throws {
        let issuer = Issuer()
        let verifier = issuer.verifier(requireProof: true)
        let text = try issuer.token(isBound: true)
        let proof = try issuer.proof(of: text)
        _ = try await verifier.verify(text, for: .ann(), proof: proof)
        await #expect(throws: AuthTokenVerificationError.of(.replayed)) {
            try await verifier.verify(text, for: .ann(), proof: proof)
        }
        // One that is refused for another reason is not used up.
        let next = try issuer.proof(of: text, identifier: "p2")
        await #expect(throws: AuthTokenVerificationError.of(.wrongUser)) {
            try await verifier.verify(text, for: .init(user: "bob", server: "app.example"), proof: next)
        }
        _ = try await verifier.verify(text, for: .ann(), proof: next)
    }

    @Test func twoKeysMayUseOneIdentifier() async throws {
        let (issuer, other) = (Issuer(), P256.Signing.PrivateKey())
        let verifier = issuer.verifier(requireProof: true)
        let texts = [
            try issuer.token(isBound: true),
            try issuer.token { $0.keyThumbprint = JWK(other.publicKey).thumbprint },
        ]
        for (text, key) in zip(texts, [nil, other]) {
            let proof = try issuer.proof(of: text, identifier: "same", by: key)
            #expect(try await verifier.verify(text, for: .ann(), proof: proof).isProven)
        }
    }

    @Test func aFullMemoryRefuses() async throws {
        let memory = ProofsInMemory(limit: 2) { 10 }
        for (proof, isNew) in [("a", true), ("b", true), ("a", false)] {
            #expect(try await memory.remember(proof, until: 11) == isNew)
        }
        await #expect(throws: ProofsInMemory.Full.self) { try await memory.remember("c", until: 11) }
        let issuer = Issuer()
        let text = try issuer.token(isBound: true)
        let verifier = AuthTokenVerifier(keys: issuer.keys(), issuer: Issuer.name, requireProof: true, proofs: memory)
        await #expect(throws: AuthTokenVerificationError.of(.store)) {
            try await verifier.verify(text, for: .ann(), proof: issuer.proof(of: text))
        }
    }

    @Test func expiredProofsAreForgotten() async throws {
        let issuer = Issuer()
        let memory = ProofsInMemory(limit: 2, clock: issuer.clock)
        for proof in ["a", "b"] { #expect(try await memory.remember(proof, until: Issuer.start + 1)) }
        issuer.advance(1)
        for proof in ["c", "a"] { #expect(try await memory.remember(proof, until: Issuer.start + 2)) }
    }

    @Test func aProofThatWasForgottenWhileTheClockWasAheadIsNotNew() async throws {
        let issuer = Issuer()
        let memory = ProofsInMemory(limit: 2, clock: issuer.clock)
        for proof in ["a", "b"] { #expect(try await memory.remember(proof, until: Issuer.start + 60)) }
        issuer.advance(1_000)
        #expect(try await memory.remember("ahead", until: Issuer.start + 1_060))
        issuer.advance(-990)
        #expect(try await !memory.remember("a", until: Issuer.start + 60))
        #expect(try await memory.remember("new", until: Issuer.start + 70))
    }

    /// The memory forgets a proof at the end of its time, which may come between the check and the answer.
    @Test func aProofWhoseTimeEndsWhileTheMemoryIsAskedIsRefused() async throws {
        let issuer = Issuer()
        let memory = ProofsInMemory(limit: 10, clock: issuer.clock)
        let slow = SlowMemory(memory: memory) { issuer.advance(1) }
        func verifier(_ proofs: any ProofMemory) -> AuthTokenVerifier {
            AuthTokenVerifier(keys: issuer.keys(), issuer: Issuer.name, requireProof: true, proofs: proofs)
        }
        let text = try issuer.token(isBound: true)
        let proof = try issuer.proof(of: text)
        _ = try await verifier(memory).verify(text, for: .ann(), proof: proof)
        issuer.advance(89)
        await #expect(throws: AuthTokenVerificationError.of(.replayed)) {
            try await verifier(memory).verify(text, for: .ann(), proof: proof)
        }
        await #expect(throws: AuthTokenVerificationError.of(.noProof)) {
            try await verifier(slow).verify(text, for: .ann(), proof: proof)
        }
    }
}

/// Something happens before it is asked.
private struct SlowMemory: ProofMemory {
    let memory: ProofsInMemory
    let before: @Sendable () -> Void

    func remember(_ proof: String, until expiry: Int64) async throws -> Bool {
        before()
        return try await memory.remember(proof, until: expiry)
    }
}
