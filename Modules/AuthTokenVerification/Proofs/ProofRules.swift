internal import SallyportBase
internal import SallyportCore
internal import SallyportWire

/// What a proof must be (RFC 9449 §4.3), but that it is new. A value without clock and I/O.
struct ProofRules {
    /// How old a proof may be, in seconds.
    static let window: Int64 = 60

    let leeway: Int64

    /// - Returns: what to remember of the proof, and until when.
    /// - Throws: `noProof`.
    func check(
        _ text: String, of presented: PresentedProof, with token: String, boundTo thumbprint: String, at now: Int64
    ) throws(AuthTokenVerificationError) -> (name: String, until: Int64) {
        let proof: DPoPProof
        do throws(WireError) {
            proof = try DPoPProof(Array(text.utf8))
        } catch {
            throw Self.refusal("The proof is none.", error)
        }
        guard ConstantTime.areEqual(proof.keyThumbprint, thumbprint) else {
            throw Self.refusal("The proof is of another key than the token's.")
        }
        guard ConstantTime.areEqual(proof.tokenHash ?? "", DPoPProof.hash(of: token)) else {
            throw Self.refusal("The proof is for another token.")
        }
        guard proof.method == presented.method, let url = try? RequestURL(presented.url), proof.isFor(url) else {
            throw Self.refusal("The proof is for another request.")
        }
        let end = proof.issuedAt + Self.window + leeway
        guard proof.issuedAt <= now + leeway, now < end else {
            throw Self.tooOld
        }
        // Two keys may use one identifier.
        return (DPoPProof.hash(of: "\(proof.keyThumbprint) \(proof.identifier)"), end)
    }

    static var tooOld: AuthTokenVerificationError { refusal("The proof is too old, or of the future.") }

    private static func refusal(
        _ message: String, _ underlying: (any Error)? = nil, fileID: StaticString = #fileID, line: UInt = #line
    ) -> AuthTokenVerificationError {
        AuthTokenVerificationError(.noProof, message, underlying: underlying, fileID: fileID, line: line)
    }
}
