import SallyportCore
import SallyportSecureStore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportAuthorization
@testable import SallyportCommandLine

/// What becomes of the store that a failed activation has made.
@Suite struct ActivationStoreTests {
    @Test func aKeyForWhichACertificateMayHaveBeenIssuedIsKept() async throws {
        let folder = try TemporaryDirectory()
        let store = try await SecureStore.open(at: folder.file("app"), protectedBy: .keyFile(folder.file("key")))
        defer { store.close() }
        func isKept(after code: AuthorizationError.Code) -> Bool {
            Client.isWorthKeeping(store, after: AuthorizationError(code, .noNetwork, "It failed."))
        }
        // Nothing was asked for yet.
        #expect(!isKept(after: .unreachable) && !isKept(after: .communicationFailed))
        _ = try await AuthorizationRecords(store).enrollmentKey(for: "a link")
        // It may be a gateway that is cut off from its database behind the commit.
        #expect(isKept(after: .unreachable) && isKept(after: .communicationFailed))
        for code: AuthorizationError.Code in [.linkUsed, .linkExpired, .credentialsRefused, .versionNotEntitled] {
            #expect(!isKept(after: code), "\(code)")
        }
    }
}
